package load

import (
	"go/ast"
	"go/types"
)

// walk follows one definition. lasting are variables whose memory outlives the
// run or may refer to such memory; the set grows until nothing is added, so
// that pointers handed from function to function are followed.
type walk struct {
	info    *types.Info
	bodies  map[types.Object]*ast.FuncDecl
	stage   string
	entry   ast.Node // the function given to Define
	lasting map[types.Object]bool
	reached map[ast.Node]bool
	found   []hidden
}

// search reports what the function given to Define and the functions of the
// package that it calls keep.
func (w *walk) search(build ast.Expr) []hidden {
	code := []ast.Node{build}
	w.entry = build
	if id, ok := ast.Unparen(build).(*ast.Ident); ok {
		if f, local := w.bodies[w.info.Uses[id]]; local {
			code, w.entry = []ast.Node{f}, f
		}
	}
	w.reached[code[0]] = true
	for i := 0; i < len(code); i++ {
		code = append(code, w.callees(code[i])...)
	}
	for before := -1; before != len(w.lasting); {
		before = len(w.lasting)
		for _, c := range code {
			ast.Inspect(c, w.spread)
		}
	}
	for _, c := range code {
		ast.Inspect(c, w.report)
	}
	return w.found
}

// callees lists functions of the package that code mentions for the first time.
func (w *walk) callees(code ast.Node) []ast.Node {
	var out []ast.Node
	ast.Inspect(code, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		fn, ok := w.info.Uses[id].(*types.Func)
		if !ok {
			return true
		}
		if f, local := w.bodies[fn.Origin()]; local && !w.reached[f] {
			w.reached[f] = true
			out = append(out, f)
		}
		return true
	})
	return out
}

// outlives tells whether the memory of a variable itself is older than the run:
// it belongs to the package or to a function around the definition.
func (w *walk) outlives(v *types.Var) bool {
	if v.Parent() != nil && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		return true
	}
	for code := range w.reached {
		if code.Pos() <= v.Pos() && v.Pos() <= code.End() {
			return false
		}
	}
	return !v.IsField()
}

// origin is what an expression such as a.b[i].c or get().c starts with.
type origin struct {
	variable *types.Var    // or
	call     *ast.CallExpr // or neither
	follows  bool          // a pointer, map or slice is followed on the way
}

// origin walks an expression to its start; the start of append(a, ...) is a.
func (w *walk) origin(e ast.Expr) origin {
	follows := false
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e, follows = x.X, true
		case *ast.UnaryExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.TypeAssertExpr:
			e = x.X
		case *ast.IndexExpr:
			e, follows = x.X, follows || refers(w.info.TypeOf(x.X))
		case *ast.SelectorExpr:
			if v, ok := w.info.Uses[x.Sel].(*types.Var); ok && !v.IsField() {
				return origin{variable: v, follows: follows} // of another package
			}
			e, follows = x.X, follows || refers(w.info.TypeOf(x.X))
		case *ast.Ident:
			v, _ := w.info.ObjectOf(x).(*types.Var)
			return origin{variable: v, follows: follows}
		case *ast.CallExpr:
			if !isAppend(w.info, x) {
				return origin{call: x, follows: follows}
			}
			e = x.Args[0]
		default:
			return origin{follows: follows}
		}
	}
}

func isAppend(info *types.Info, call *ast.CallExpr) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return false
	}
	builtin, ok := info.Uses[id].(*types.Builtin)
	return ok && builtin.Name() == "append"
}

// refers tells whether values of the type share memory when they are copied.
func refers(t types.Type) bool {
	if t == nil {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Slice, *types.Chan, *types.Interface:
		return true
	}
	return false
}

// isLasting tells whether an expression is, or may refer to, lasting memory.
func (w *walk) isLasting(e ast.Expr) bool {
	from := w.origin(e)
	if from.call != nil {
		return w.returnsLasting(from.call)
	}
	return from.variable != nil && (w.lasting[from.variable] || w.outlives(from.variable))
}

// returnsLasting tells whether a function of the package hands out lasting memory.
func (w *walk) returnsLasting(call *ast.CallExpr) bool {
	fn := calledFunction(w.info, call)
	if fn == nil {
		return false
	}
	f, local := w.bodies[fn.Origin()]
	if !local {
		return false
	}
	lasting := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok {
			for _, value := range r.Results {
				if _, nested := ast.Unparen(value).(*ast.CallExpr); !nested && refers(w.info.TypeOf(value)) && w.isLasting(value) {
					lasting = true
				}
			}
		}
		return !lasting
	})
	return lasting
}
