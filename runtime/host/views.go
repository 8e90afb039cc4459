package host

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// views holds the view of every tensor of a plan, by position, in the list of
// its Go type. Tensors without memory have a view without data.
type views[T device.Float] struct {
	floats   []view[T]
	indices  []view[int32]
	counters []view[int64]
}

// newViews locates every tensor whose storage has memory in m.
func newViews[T device.Float](plan *ir.Stage, m *memory[T], sizes ir.Sizes) (views[T], error) {
	n := len(plan.Tensors)
	v := views[T]{floats: make([]view[T], n), indices: make([]view[int32], n), counters: make([]view[int64], n)}
	for i := range plan.Tensors {
		t := &plan.Tensors[i]
		if t.Storage == 0 {
			continue
		}
		at := int(t.Storage) - 1
		floats, indices, counters := m.floats[at], m.indices[at], m.counters[at]
		if floats == nil && indices == nil && counters == nil {
			continue
		}
		g, err := locate(t, sizes, max(len(floats), len(indices), len(counters)))
		switch {
		case err != nil:
			return views[T]{}, err
		case floats != nil:
			v.floats[i] = place(floats, g)
		case indices != nil:
			v.indices[i] = place(indices, g)
		default:
			v.counters[i] = place(counters, g)
		}
	}
	return v, nil
}

// open opens the tensor that ref names under the name of its table: nil for
// the zero ref.
func (v *views[T]) open(d *Device, plan *ir.Stage, name string, ref ir.Ref) (device.Tensor, error) {
	if ref == 0 {
		return nil, nil
	}
	i := ref - 1
	switch {
	case v.floats[i].data != nil:
		return newTensor(d, name, v.floats[i]), nil
	case v.indices[i].data != nil:
		return newTensor(d, name, v.indices[i]), nil
	case v.counters[i].data != nil:
		return newTensor(d, name, v.counters[i]), nil
	}
	return nil, fmt.Errorf("tensor %s of %s has no memory", plan.Tensor(ref).Name, name)
}
