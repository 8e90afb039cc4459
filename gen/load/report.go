package load

import (
	"go/ast"
	"go/token"
	"go/types"
)

// report notes the statement n when it stores a tensor in lasting memory.
func (w *walk) report(n ast.Node) bool {
	switch s := n.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return true
		}
		for i, left := range s.Lhs {
			kept := holdsTensor(w.info.TypeOf(left))
			if len(s.Rhs) == len(s.Lhs) {
				kept = kept || holdsTensor(w.info.TypeOf(s.Rhs[i]))
			}
			if kept {
				w.stored(left)
			}
		}
	case *ast.RangeStmt:
		for _, left := range []ast.Expr{s.Key, s.Value} {
			if left != nil && s.Tok == token.ASSIGN && holdsTensor(w.info.TypeOf(left)) {
				w.stored(left)
			}
		}
	case *ast.SendStmt:
		if holdsTensor(w.info.TypeOf(s.Value)) && w.isLasting(s.Chan) {
			w.add(s.Chan)
		}
	case *ast.CallExpr:
		w.reportCall(s)
	}
	return true
}

// stored notes an assignment whose target is lasting memory.
func (w *walk) stored(left ast.Expr) {
	from := w.origin(left)
	switch v := from.variable; {
	case from.call != nil && w.returnsLasting(from.call),
		v != nil && v.Name() != "_" && (w.outlives(v) || from.follows && w.lasting[v]):
		w.add(left)
	}
}

// reportCall notes a tensor that is handed to a method of a lasting variable
// whose code is elsewhere, such as the Store of a sync.Map. Methods that take
// the Builder are blocks of the language, not places to keep things.
func (w *walk) reportCall(call *ast.CallExpr) {
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return
	}
	method := w.info.Selections[selector]
	if method == nil || method.Kind() != types.MethodVal || !w.isLasting(selector.X) {
		return
	}
	fn, _ := method.Obj().(*types.Func)
	if fn == nil || w.bodies[fn.Origin()] != nil || isStagePackage(fn) || takesBuilder(fn) {
		return
	}
	for _, a := range call.Args {
		if holdsTensor(w.info.TypeOf(a)) {
			w.add(selector.X)
			return
		}
	}
}

func isStagePackage(fn *types.Func) bool { return fn.Pkg() != nil && fn.Pkg().Path() == stagePath }

func takesBuilder(fn *types.Func) bool {
	for v := range fn.Signature().Params().Variables() {
		if isPointerTo(v.Type(), "Builder") {
			return true
		}
	}
	return false
}

func (w *walk) add(at ast.Expr) {
	w.found = append(w.found, hidden{stage: w.stage, pos: at.Pos(), where: types.ExprString(at)})
}
