package load

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/stage"
)

// shownErrors is how many errors of one package are listed before the rest is
// only counted.
const shownErrors = 10

// relative is a file as seen from dir, when that is shorter to read.
func relative(dir, file string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return file
	}
	rel, err := filepath.Rel(abs, file)
	if err != nil || len(rel) > len(file) {
		return file
	}
	return rel
}

// place prints a position as file:line, the file relative to dir.
func place(dir string, at token.Position) string {
	return relative(dir, at.Filename) + ":" + strconv.Itoa(at.Line)
}

// packageErrors are the errors of the go command or the compiler about a
// package, as they are but for the file names. An error inside a definition
// names its stage.
func packageErrors(dir string, p *packages.Package) error {
	found := slices.DeleteFunc(slices.Clone(p.Errors), func(e packages.Error) bool { return e.Kind != packages.TypeError && e.Kind != packages.ParseError })
	if len(found) == 0 { // else the go command has said the same already
		found = p.Errors
	}
	var errs []error
	for i, e := range found {
		if i == shownErrors {
			errs = append(errs, fmt.Errorf("and %d more", len(found)-i))
			break
		}
		errs = append(errs, packageError(dir, p, e))
	}
	return errors.Join(errs...)
}

func packageError(dir string, p *packages.Package, e packages.Error) error {
	file, rest, ok := splitPosition(e.Pos)
	if !ok {
		return fmt.Errorf("%s: %s", p.PkgPath, strings.TrimSpace(e.Msg))
	}
	line, _, _ := strings.Cut(rest, ":")
	message := e.Msg
	if name := enclosingStage(p, file, line); name != "" {
		message = fmt.Sprintf("stage %s: %s%s", name, message, languageRemedy(message))
	}
	return fmt.Errorf("%s:%s: %s", relative(dir, file), rest, message)
}

// splitPosition cuts file:line or file:line:column.
func splitPosition(pos string) (file, rest string, ok bool) {
	for at := 0; at < len(pos); at++ {
		if pos[at] == ':' && at+1 < len(pos) && pos[at+1] >= '0' && pos[at+1] <= '9' {
			return pos[:at], pos[at+1:], true
		}
	}
	return "", "", false
}

// enclosingStage is the name in the stage.Define call around a line, if any.
func enclosingStage(p *packages.Package, file, line string) string {
	number, err := strconv.Atoi(line)
	if err != nil {
		return ""
	}
	name := ""
	for _, syntax := range p.Syntax {
		if p.Fset.Position(syntax.FileStart).Filename != file {
			continue
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			function, isSelector := call.Fun.(*ast.SelectorExpr)
			first, isLiteral := call.Args[0].(*ast.BasicLit)
			inside := p.Fset.Position(call.Pos()).Line <= number && number <= p.Fset.Position(call.End()).Line
			if isSelector && isLiteral && function.Sel.Name == "Define" && inside {
				if text, err := strconv.Unquote(first.Value); err == nil {
					name = text
				}
			}
			return true
		})
	}
	return name
}

// languageRemedy helps an author who asks for an operation that the language
// does not have, such as a callback to the host.
func languageRemedy(message string) string {
	if strings.Contains(message, "stage.Builder has no field or method") {
		return "; a stage holds device operations only: do host work, such as callbacks, in the trainer, outside the stage"
	}
	return ""
}

// mistakesError prints the mistakes of a definition with files relative to
// dir. A mistake without a place happened at the variable itself.
func mistakesError(dir string, p *packages.Package, d definition, mistakes stage.Mistakes) error {
	files := filesOf(p, mistakes)
	out := make(stage.Mistakes, len(mistakes))
	for i, m := range mistakes {
		out[i] = m
		if m.Stage == "" {
			at := p.Fset.Position(d.variable.Pos())
			out[i].Stage, out[i].Pos = d.variable.Name(), ir.Pos{File: filepath.ToSlash(relative(dir, at.Filename)), Line: at.Line}
			continue
		}
		if folder, known := files[m.Pos.Package]; known {
			out[i].Pos = ir.Pos{File: filepath.ToSlash(relative(dir, filepath.Join(folder, m.Pos.File))), Line: m.Pos.Line}
		}
	}
	return out
}

// filesOf finds the folders of the packages in which mistakes were made: the
// package of the definition and those of the blocks that it uses.
func filesOf(p *packages.Package, mistakes stage.Mistakes) map[string]string {
	folders := map[string]string{p.PkgPath: p.Dir}
	var others []string
	for _, m := range mistakes {
		if _, known := folders[m.Pos.Package]; !known && m.Pos.Package != "" {
			folders[m.Pos.Package] = ""
			others = append(others, m.Pos.Package)
		}
	}
	if len(others) > 0 {
		// When this fails, import paths are printed in place of folders.
		found, _ := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles, Dir: p.Dir}, others...)
		for _, f := range found {
			folders[f.PkgPath] = f.Dir
		}
	}
	for path, folder := range folders {
		if folder == "" {
			delete(folders, path)
		}
	}
	return folders
}
