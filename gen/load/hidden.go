package load

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/packages"
)

// hidden is a tensor that a definition keeps where it outlives the run of the
// definition. A replay could never refresh it, so it must be an output.
type hidden struct {
	stage string
	pos   token.Pos
	where string // the variable, field or entry, as the author wrote it
}

func (h hidden) describe(dir string, files *token.FileSet) error {
	return fmt.Errorf("%s: stage %s: define: hidden state: a tensor is kept in %s, which outlives the definition and which a replay would not refresh; declare it with Builder.Output",
		place(dir, files.Position(h.pos)), h.stage, h.where)
}

// findHidden follows the functions of each definition through its package and
// reports every place where a tensor is stored outside of the run.
func findHidden(p *packages.Package, definitions []definition) []hidden {
	bodies := functionBodies(p)
	var out []hidden
	for _, d := range definitions {
		for _, call := range defineCalls(p.TypesInfo, d.value, bodies) {
			w := &walk{info: p.TypesInfo, bodies: bodies, stage: stageName(p.TypesInfo, call, d), lasting: map[types.Object]bool{}, reached: map[ast.Node]bool{}}
			out = append(out, w.search(call.Args[1])...)
		}
	}
	return out
}

// functionBodies maps the functions and methods of the package to their code.
func functionBodies(p *packages.Package) map[types.Object]*ast.FuncDecl {
	bodies := map[types.Object]*ast.FuncDecl{}
	for _, file := range p.Syntax {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				bodies[p.TypesInfo.Defs[f.Name]] = f
			}
		}
	}
	return bodies
}

// defineCalls finds the calls of stage.Define that a definition's value makes,
// also inside functions of the package that make definitions.
func defineCalls(info *types.Info, value ast.Node, bodies map[types.Object]*ast.FuncDecl) []*ast.CallExpr {
	var calls []*ast.CallExpr
	seen := map[ast.Node]bool{}
	var visit func(ast.Node)
	visit = func(root ast.Node) {
		if root == nil || seen[root] {
			return
		}
		seen[root] = true
		ast.Inspect(root, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			callee := calledFunction(info, call)
			if callee == nil {
				return true
			}
			if callee.Pkg() != nil && callee.Pkg().Path() == stagePath && callee.Name() == "Define" && len(call.Args) == 2 {
				calls = append(calls, call)
				return false
			}
			if f, local := bodies[callee.Origin()]; local {
				visit(f.Body)
			}
			return true
		})
	}
	if value != nil {
		visit(value)
	}
	return calls
}

func calledFunction(info *types.Info, call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch f := fun.(type) { // instances of generic functions
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	switch f := fun.(type) {
	case *ast.Ident:
		fn, _ := info.Uses[f].(*types.Func)
		return fn
	case *ast.SelectorExpr:
		fn, _ := info.Uses[f.Sel].(*types.Func)
		return fn
	}
	return nil
}

// stageName is the name in a Define call, or the variable when it is computed.
func stageName(info *types.Info, call *ast.CallExpr, d definition) string {
	if value := info.Types[call.Args[0]].Value; value != nil && value.Kind() == constant.String {
		return constant.StringVal(value)
	}
	return d.variable.Name()
}

// holdsTensor tells whether a value of type t can contain a stage.Tensor.
func holdsTensor(t types.Type) bool { return holds(t, map[types.Type]bool{}) }

func holds(t types.Type, seen map[types.Type]bool) bool {
	t = types.Unalias(t)
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	if isStageType(t, "Tensor") {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return holds(u.Elem(), seen)
	case *types.Slice:
		return holds(u.Elem(), seen)
	case *types.Array:
		return holds(u.Elem(), seen)
	case *types.Chan:
		return holds(u.Elem(), seen)
	case *types.Map:
		return holds(u.Key(), seen) || holds(u.Elem(), seen)
	case *types.Struct:
		for field := range u.Fields() {
			if holds(field.Type(), seen) {
				return true
			}
		}
	case *types.Tuple:
		for v := range u.Variables() {
			if holds(v.Type(), seen) {
				return true
			}
		}
	}
	return false
}
