package templates

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// flat is a set of tensors of one shape seen as rows x inner: three outer
// dimensions, merged into one where memory allows it, and one inner dimension.
type flat struct {
	extent  [4]ir.Dim
	strides map[ir.Ref][4]ir.Dim
	merged  bool // the outer dimensions are one: extent[0] and extent[1] are 1
	vector  int  // neighbours along the inner dimension that move at once: 8, 4, 2 or 1
}

// rank is the Rank argument of the kernels.
func (f *flat) rank() int {
	if f.merged {
		return 1
	}
	return 3
}

// rows is the number of rows.
func (f *flat) rows() Expr {
	return Size(f.extent[0].Mul(f.extent[1]).Mul(f.extent[2]))
}

// axis is one dimension of all tensors of a set.
type axis struct {
	extent  ir.Dim
	strides []ir.Dim // in the order of the tensors
}

// flatten brings tensors of one shape into rows x inner. inner is the dimension
// to become the inner one; -1 chooses the one that is contiguous in the first
// tensor. whole lets the inner dimension swallow the rows where all is contiguous.
func (b *builder) flatten(inner int, whole bool, refs ...ir.Ref) (*flat, error) {
	shape := b.stage.Tensor(refs[0]).Shape
	if len(shape) == 0 || len(shape) > 4 {
		return nil, fmt.Errorf("%s has shape %s; kernels take 1 to 4 dimensions", b.stage.Tensor(refs[0]).Name, ir.ShapeText(shape))
	}
	for _, r := range refs[1:] {
		if !ir.EqualShapes(shape, b.stage.Tensor(r).Shape) {
			return nil, fmt.Errorf("%s has shape %s, expected %s", b.stage.Tensor(r).Name, ir.ShapeText(b.stage.Tensor(r).Shape), ir.ShapeText(shape))
		}
	}
	if inner < 0 {
		inner = b.contiguousAxis(refs[0])
	}
	var rows []axis
	for i := range shape {
		if i != inner && !isOne(shape[i]) {
			rows = append(rows, b.axis(i, refs))
		}
	}
	last := b.axis(inner, refs)
	rows = mergeAxes(rows)
	if whole && len(rows) == 1 && mergeable(rows[0], last) {
		total := rows[0].extent.Mul(last.extent)
		if _, ok := total.Divide(4, b.stage.Multiple); ok && isUnit(last) {
			rows, last.extent = nil, total
		}
	}
	f := &flat{strides: map[ir.Ref][4]ir.Dim{}, merged: len(rows) <= 1}
	f.lay(rows, last, refs)
	f.vector = b.vectorWidth(rows, last, refs)
	return f, nil
}

// lay writes extents and strides, filling with dimensions of extent 1.
func (f *flat) lay(rows []axis, last axis, refs []ir.Ref) {
	first := 3 - len(rows)
	for i := range f.extent {
		f.extent[i] = ir.Const(1)
	}
	f.extent[3] = last.extent
	for n, r := range refs {
		var s [4]ir.Dim
		for i, a := range rows {
			f.extent[first+i] = a.extent
			s[first+i] = a.strides[n]
		}
		s[3] = last.strides[n]
		f.strides[r] = s
	}
}

func (b *builder) axis(i int, refs []ir.Ref) axis {
	a := axis{extent: b.stage.Tensor(refs[0]).Shape[i]}
	for _, r := range refs {
		a.strides = append(a.strides, b.stage.Tensor(r).Strides[i])
	}
	return a
}

// contiguousAxis is the dimension whose neighbours are neighbours in memory,
// the last dimension when there is none.
func (b *builder) contiguousAxis(r ir.Ref) int {
	t := b.stage.Tensor(r)
	for i := len(t.Shape) - 1; i >= 0; i-- {
		if s, ok := t.Strides[i].Constant(); ok && s == 1 && !isOne(t.Shape[i]) {
			return i
		}
	}
	return len(t.Shape) - 1
}

// mergeAxes joins neighbours that all tensors hold without a gap.
func mergeAxes(axes []axis) []axis {
	var out []axis
	for _, a := range axes {
		if n := len(out); n > 0 && mergeable(out[n-1], a) {
			out[n-1] = axis{extent: out[n-1].extent.Mul(a.extent), strides: a.strides}
			continue
		}
		out = append(out, a)
	}
	return out
}

func mergeable(outer, inner axis) bool {
	for i := range outer.strides {
		if !outer.strides[i].Equal(inner.strides[i].Mul(inner.extent)) {
			return false
		}
	}
	return true
}

func isOne(d ir.Dim) bool {
	v, ok := d.Constant()
	return ok && v == 1
}

func isUnit(a axis) bool {
	for _, s := range a.strides {
		if !isOne(s) {
			return false
		}
	}
	return true
}

// vectorWidth is the largest group of inner neighbours that is aligned in every
// tensor at every size that the stage allows.
func (b *builder) vectorWidth(rows []axis, last axis, refs []ir.Ref) int {
	if !isUnit(last) {
		return 1
	}
	divides := func(d ir.Dim, v int) bool {
		_, ok := d.Divide(v, b.stage.Multiple)
		return ok
	}
	fits := func(v int) bool {
		if !divides(last.extent, v) {
			return false
		}
		for _, r := range refs {
			if !divides(b.stage.Tensor(r).Offset, v) {
				return false
			}
		}
		for _, a := range rows {
			for _, s := range a.strides {
				if !divides(s, v) {
					return false
				}
			}
		}
		return true
	}
	for _, v := range []int{8, 4, 2} {
		if fits(v) {
			return v
		}
	}
	return 1
}
