package templates

import (
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Wrapper prints the C text of a stage, source and header: the context that a
// back end fills, and one function each to enqueue, record and replay every
// program of the plan. Every symbol starts with reprise_<package>_<stage>_.
func Wrapper(stage *ir.Stage, pkg string) (source, header []byte, err error) {
	p, err := plan(stage, pkg)
	if err != nil {
		return nil, nil, err
	}
	arguments, err := argumentsText()
	if err != nil {
		return nil, nil, err
	}
	data := struct {
		*planned
		Arguments string
	}{p, arguments}
	if source, err = execute("wrap/stage.c.tmpl", data); err != nil {
		return nil, nil, err
	}
	header, err = execute("wrap/stage.h.tmpl", data)
	return source, header, err
}

// argumentsText is the text of the argument structures that the C compiler
// shares with the CUDA compiler.
func argumentsText() (string, error) {
	var out strings.Builder
	if err := include(&out, map[string]bool{}, "arguments.h"); err != nil {
		return "", err
	}
	return out.String(), nil
}
