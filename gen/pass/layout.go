package pass

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// layout gives every tensor its place in memory. A slice, a change of shape
// and, where nothing stands against it, an operand of a concatenation become
// views of another tensor's storage; what cannot be a view becomes a Copy.
func layout(s *ir.Stage) error {
	l := &layouter{stage: s, parent: map[ir.Ref]link{}, fixed: map[ir.Ref]bool{}}
	for _, p := range s.Inputs {
		l.fixed[p.Tensor] = true
	}
	for _, p := range s.Parameters {
		l.fixed[p.Tensor] = true
	}
	for _, b := range s.Buffers {
		l.fixed[b.Tensor] = true
	}
	var ops []ir.Op
	for _, op := range s.Forward {
		switch k := op.Do.(type) {
		case *ir.Slice:
			l.slice(k)
		case *ir.Reshape:
			ops = append(ops, l.reshape(op, k)...)
		case *ir.Concat:
			ops = append(ops, l.concat(op, k)...)
		default:
			ops = append(ops, op)
		}
	}
	s.Forward = ops
	return l.place()
}

// link says how a tensor lies inside its parent.
type link struct {
	parent ir.Ref
	rows   ir.Dim  // first row (position of a map, anchor) in the parent
	start  ir.Dim  // first channel in the parent
	form   ir.Form // change of shape; "" for a range of rows and channels
}

type layouter struct {
	stage  *ir.Stage
	parent map[ir.Ref]link
	fixed  map[ir.Ref]bool // tensors whose storage belongs to the caller
}

// root follows range links up to a tensor that owns its storage or hangs on a
// change of shape, adding up the ranges. Anchors keep rows and channels as
// they are and count as a range.
func (l *layouter) root(t ir.Ref) (root ir.Ref, rows, start ir.Dim) {
	for {
		up, ok := l.parent[t]
		if !ok || up.form != "" && up.form != ir.Anchors {
			return t, rows, start
		}
		t, rows, start = up.parent, rows.Add(up.rows), start.Add(up.start)
	}
}

func (l *layouter) slice(k *ir.Slice) {
	l.parent[k.Y] = link{parent: k.X, start: k.Start}
}

func (l *layouter) reshape(op ir.Op, k *ir.Reshape) []ir.Op {
	if k.Form != ir.Map {
		l.parent[k.Y] = link{parent: k.X, form: k.Form}
		return nil
	}
	if _, hangs := l.parent[k.X]; !hangs && !l.fixed[k.X] {
		// The matrices own their storage: let them be a view of the map, so
		// that whatever computes them writes channels last.
		l.parent[k.X] = link{parent: k.Y, form: ir.Heads}
		return nil
	}
	if l.contiguous(k.X) {
		l.parent[k.Y] = link{parent: k.X, form: ir.Map}
		return nil
	}
	x := *l.stage.Tensor(k.X)
	view := l.stage.AddTensor(ir.Tensor{Name: op.Name + ".matrices", Shape: x.Shape, Elem: x.Elem})
	l.parent[view] = link{parent: k.Y, form: ir.Heads}
	return []ir.Op{{Name: op.Name, Mode: op.Mode, Pos: op.Pos, Do: &ir.Copy{X: k.X, Y: view}}}
}

// contiguous tells whether the channels of matrices that view a map lie
// beside one another, so that they can be seen as a map again: whole heads,
// or one head.
func (l *layouter) contiguous(m ir.Ref) bool {
	shape := l.stage.Tensor(m).Shape
	if heads, ok := shape[1].Constant(); ok && heads == 1 {
		return true
	}
	root, _, _ := l.root(m)
	up, hangs := l.parent[root]
	return hangs && up.form == ir.Heads && shape[2].Equal(l.stage.Tensor(root).Shape[2])
}

// concat places what it can into the result and copies the rest.
func (l *layouter) concat(op ir.Op, k *ir.Concat) []ir.Op {
	slots := l.slots(k)
	var copies []ir.Op
	for i, x := range k.Xs {
		root, rows, start := l.root(x)
		if root == k.Y && rows.Equal(slots[i].rows) && start.Equal(slots[i].start) {
			continue // came into place with an earlier operand
		}
		at := link{parent: k.Y, rows: slots[i].rows.Sub(rows), start: slots[i].start.Sub(start)}
		if l.mayPlace(k, slots, root, at) {
			l.parent[root] = at
			continue
		}
		x := *l.stage.Tensor(x)
		slot := l.stage.AddTensor(ir.Tensor{Name: op.Name + ".slot", Shape: x.Shape, Elem: x.Elem, Map: x.Map})
		l.parent[slot] = slots[i]
		copies = append(copies, ir.Op{Name: fmt.Sprintf("%s.copy%d", op.Name, i), Mode: op.Mode, Pos: op.Pos, Do: &ir.Copy{X: k.Xs[i], Y: slot}})
	}
	return copies
}

// slots lists where each operand belongs in the result.
func (l *layouter) slots(k *ir.Concat) []link {
	slots := make([]link, len(k.Xs))
	var at ir.Dim
	rows := l.alongRows(k)
	for i, x := range k.Xs {
		slots[i] = link{parent: k.Y, start: at}
		if rows {
			slots[i] = link{parent: k.Y, rows: at}
		}
		at = at.Add(l.stage.Tensor(x).Shape[k.Axis])
	}
	return slots
}

// alongRows tells whether a concatenation joins rows and not channels.
func (l *layouter) alongRows(k *ir.Concat) bool {
	return len(l.stage.Tensor(k.Y).Shape) == 3 && k.Axis == 1
}

// mayPlace tells whether the storage of root can lie inside the result of the
// concatenation at the given place: it is nobody else's, it fits, and every
// operand slot that it touches is a part of it in its right place.
func (l *layouter) mayPlace(k *ir.Concat, slots []link, root ir.Ref, at link) bool {
	if _, hangs := l.parent[root]; hangs || l.fixed[root] || root == k.Y {
		return false
	}
	y := l.stage.Tensor(k.Y)
	if len(y.Shape) == 4 && !y.Map {
		return false
	}
	rows, channels := gridOf(l.stage.Tensor(root))
	lowR, highR := at.rows, at.rows.Add(rows)
	lowC, highC := at.start, at.start.Add(channels)
	yRows, yChannels := gridOf(y)
	if !atMost(ir.Dim{}, lowR) || !atMost(ir.Dim{}, lowC) || !atMost(highR, yRows) || !atMost(highC, yChannels) {
		return false
	}
	for i, x := range k.Xs {
		xRows, xChannels := gridOf(l.stage.Tensor(x))
		apart := atMost(slots[i].rows.Add(xRows), lowR) || atMost(highR, slots[i].rows) ||
			atMost(slots[i].start.Add(xChannels), lowC) || atMost(highC, slots[i].start)
		if apart {
			continue
		}
		r, rOff, cOff := l.root(x)
		if r != root || !at.rows.Add(rOff).Equal(slots[i].rows) || !at.start.Add(cOff).Equal(slots[i].start) {
			return false
		}
	}
	return true
}

// gridOf sees a map, rows or a vector as rows of channels.
func gridOf(t *ir.Tensor) (rows, channels ir.Dim) {
	switch {
	case t.Map:
		return t.Shape[2].Mul(t.Shape[3]), t.Shape[1]
	case len(t.Shape) == 3:
		return t.Shape[1], t.Shape[2]
	case len(t.Shape) == 2:
		return ir.Const(1), t.Shape[1]
	}
	return ir.Dim{}, ir.Dim{}
}

// atMost compares two sizes at the reference sizes. Places in a storage are
// sums of the sizes of its parts, so their order is the same at all sizes.
func atMost(a, b ir.Dim) bool {
	diff := b.Sub(a)
	_, err := diff.Eval(orderSizes)
	return err == nil
}

// orderSizes are sizes at which every multiple up to 7! divides.
var orderSizes = ir.Sizes{Batch: 1, Height: 5040 * 32, Width: 5040 * 64}
