package stage

import (
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// packagePrefix starts the name of every function of this package.
var packagePrefix = func() string {
	pc, _, _, _ := runtime.Caller(0)
	name := runtime.FuncForPC(pc).Name()
	slash := strings.LastIndexByte(name, '/')
	return name[:slash+1+strings.IndexByte(name[slash+1:], '.')+1]
}()

// author is the innermost caller outside this package. Folders are import
// paths, never paths of the machine, so that output is the same everywhere.
func author() ir.Pos {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, packagePrefix) {
			return ir.Pos{Package: packageOf(frame.Function), File: filepath.Base(frame.File), Line: frame.Line}
		}
		if !more {
			return ir.Pos{}
		}
	}
}

// packageOf cuts the import path from the full name of a function.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/')
	dot := strings.IndexByte(function[slash+1:], '.')
	if dot < 0 {
		return function
	}
	return strings.ReplaceAll(function[:slash+1+dot], "%2e", ".")
}

var stackLine = regexp.MustCompile(`(?m)^(\S+)\(.*\)\n\t(.+):(\d+)`)

// panicPos finds the author's line in the stack of a panic: the first frame
// after the panic that belongs neither to the runtime nor to this package.
func panicPos(stack []byte, fallback ir.Pos) ir.Pos {
	text := string(stack)
	if at := strings.LastIndex(text, "panic("); at >= 0 {
		text = text[at:]
	}
	for _, m := range stackLine.FindAllStringSubmatch(text, -1) {
		function := m[1]
		if function == "panic" || strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, packagePrefix) {
			continue
		}
		line, err := strconv.Atoi(m[3])
		if err != nil {
			return fallback
		}
		return ir.Pos{Package: packageOf(function), File: filepath.Base(m[2]), Line: line}
	}
	return fallback
}
