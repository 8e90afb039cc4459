package host

import (
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/gen/ir"
)

// element is the set of Go types that storages are made of.
type element interface {
	float32 | float64 | int32 | int64
}

// view is a tensor at fixed sizes. data starts at its first element; strides
// count elements and are never negative.
type view[E element] struct {
	data    []E
	shape   []int
	strides []int
}

// geometry is where a tensor lies inside its storage.
type geometry struct {
	offset  int
	shape   []int
	strides []int
}

// locate evaluates a tensor's shape, strides and offset and checks that every
// element lies inside the storage of the given size.
func locate(t *ir.Tensor, sizes ir.Sizes, storage int) (geometry, error) {
	g := geometry{shape: make([]int, len(t.Shape)), strides: make([]int, len(t.Shape))}
	offset, err := t.Offset.Eval(sizes)
	if err != nil {
		return g, fmt.Errorf("offset of %s: %w", t.Name, err)
	}
	g.offset = offset
	last, empty := offset, false
	for i := range t.Shape {
		if g.shape[i], err = t.Shape[i].Eval(sizes); err != nil {
			return g, fmt.Errorf("shape of %s: %w", t.Name, err)
		}
		if g.strides[i], err = t.Strides[i].Eval(sizes); err != nil {
			return g, fmt.Errorf("strides of %s: %w", t.Name, err)
		}
		last += (g.shape[i] - 1) * g.strides[i]
		empty = empty || g.shape[i] == 0
	}
	if len(t.Shape) > maxRank {
		return g, fmt.Errorf("tensor %s has %d dimensions; at most %d are supported", t.Name, len(t.Shape), maxRank)
	}
	if empty || last >= storage {
		return g, fmt.Errorf("tensor %s of shape %v, strides %v and offset %d does not fit its storage of %d elements", t.Name, g.shape, g.strides, offset, storage)
	}
	return g, nil
}

func place[E element](storage []E, g geometry) view[E] {
	return view[E]{data: storage[g.offset:], shape: g.shape, strides: g.strides}
}

// rowMajor tells whether the elements lie in row-major order of the shape
// without gaps.
func (v view[E]) rowMajor() bool {
	step := 1
	for i := len(v.shape) - 1; i >= 0; i-- {
		if v.shape[i] != 1 && v.strides[i] != step {
			return false
		}
		step *= v.shape[i]
	}
	return true
}

// transposed swaps the last two dimensions.
func (v view[E]) transposed() view[E] {
	t := view[E]{data: v.data, shape: slices.Clone(v.shape), strides: slices.Clone(v.strides)}
	last := len(v.shape) - 1
	t.shape[last], t.shape[last-1] = t.shape[last-1], t.shape[last]
	t.strides[last], t.strides[last-1] = t.strides[last-1], t.strides[last]
	return t
}

func (v view[E]) elements() int {
	total := 1
	for _, d := range v.shape {
		total *= d
	}
	return total
}

// without gives the shape and strides with dimension axis left out.
func without(values []int, axis int) []int {
	out := make([]int, 0, len(values))
	out = append(out, values[:axis]...)
	return append(out, values[axis+1:]...)
}
