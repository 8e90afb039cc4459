package load

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// definition is a variable that holds a stage definition.
type definition struct {
	variable *types.Var
	value    ast.Expr // what it is declared with; nil when nothing
}

// find lists the package-level variables of type *stage.Definition in the
// order of their files and lines.
func find(p *packages.Package) []definition {
	var out []definition
	for _, file := range p.Syntax {
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				if values, ok := spec.(*ast.ValueSpec); ok {
					out = append(out, findIn(p, values)...)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b definition) int {
		x, y := p.Fset.Position(a.variable.Pos()), p.Fset.Position(b.variable.Pos())
		if c := strings.Compare(x.Filename, y.Filename); c != 0 {
			return c
		}
		return x.Offset - y.Offset
	})
	return out
}

func findIn(p *packages.Package, spec *ast.ValueSpec) []definition {
	var out []definition
	for i, name := range spec.Names {
		v, ok := p.TypesInfo.Defs[name].(*types.Var)
		if !ok || name.Name == "_" || !isPointerTo(v.Type(), "Definition") {
			continue
		}
		d := definition{variable: v}
		switch {
		case len(spec.Values) == len(spec.Names):
			d.value = spec.Values[i]
		case len(spec.Values) == 1:
			d.value = spec.Values[0]
		}
		out = append(out, d)
	}
	return out
}

// isPointerTo tells whether t is a pointer to the named type of package stage.
func isPointerTo(t types.Type, name string) bool {
	pointer, ok := types.Unalias(t).(*types.Pointer)
	return ok && isStageType(pointer.Elem(), name)
}

// isStageType tells whether t is the named type of package stage.
func isStageType(t types.Type, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == stagePath && named.Obj().Name() == name
}

// check reports a definition that another program cannot read.
func (d definition) check(dir string, p *packages.Package) error {
	at := place(dir, p.Fset.Position(d.variable.Pos()))
	if p.Name == "main" {
		return fmt.Errorf("%s: definition %s is in a package main, which cannot be imported; move it to a package of its own", at, d.variable.Name())
	}
	if !d.variable.Exported() {
		return fmt.Errorf("%s: definition %s is not exported; begin its name with a capital letter", at, d.variable.Name())
	}
	return nil
}
