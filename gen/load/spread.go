package load

import (
	"go/ast"
	"go/types"
)

// spread marks variables that come to refer to lasting memory at node n.
func (w *walk) spread(n ast.Node) bool {
	switch s := n.(type) {
	case *ast.AssignStmt:
		for i, left := range s.Lhs {
			if len(s.Rhs) == len(s.Lhs) {
				w.mark(left, s.Rhs[i])
			}
		}
	case *ast.ValueSpec:
		for i, name := range s.Names {
			if len(s.Values) == len(s.Names) {
				w.mark(name, s.Values[i])
			}
		}
	case *ast.RangeStmt:
		if s.Value != nil {
			w.mark(s.Value, s.X)
		}
	case *ast.CallExpr:
		w.spreadCall(s)
	}
	return true
}

// spreadCall binds arguments, and the receiver, to the parameters of a function
// of the package.
func (w *walk) spreadCall(call *ast.CallExpr) {
	fn := calledFunction(w.info, call)
	if fn == nil {
		return
	}
	f, local := w.bodies[fn.Origin()]
	if !local {
		return
	}
	if selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && f.Recv != nil {
		for _, name := range f.Recv.List[0].Names {
			w.mark(name, selector.X)
		}
	}
	at := 0
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			if at < len(call.Args) {
				w.mark(name, call.Args[at])
			}
			at++
		}
	}
}

func (w *walk) mark(left, right ast.Expr) {
	v := w.origin(left).variable
	if v == nil || w.lasting[v] || !sharesMemory(w.info.TypeOf(left)) || !w.isLasting(right) {
		return
	}
	w.lasting[v] = true
}

// sharesMemory tells whether a value of the type may refer to memory of others.
func sharesMemory(t types.Type) bool {
	if t == nil {
		return false
	}
	if isStageType(t, "Tensor") {
		return false
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for field := range s.Fields() {
			if sharesMemory(field.Type()) {
				return true
			}
		}
		return false
	}
	return refers(t)
}
