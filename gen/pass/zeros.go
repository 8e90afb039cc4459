package pass

import (
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/gen/ir"
)

// complete fills with zeros those parts of the gradient of x that have no
// value yet: first the tensors of which no element has one, then, where views
// overlap and no tensor is the missing part, the channels of which none has.
func (b *backward) complete(op *ir.Op, x ir.Ref, region bitset) error {
	filled := b.filled[b.stage.Tensor(b.gradient(x)).Storage]
	err := b.parts(x, region, func(d ir.Ref, piece bitset) error {
		if filled.meets(piece) == 0 {
			b.zero(op, d, piece)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = b.parts(x, region, func(d ir.Ref, piece bitset) error { return b.zeroChannels(op, d) })
	if err != nil {
		return err
	}
	if !filled.covers(region) {
		return fmt.Errorf("a part of %s has no gradient, and it is not made of whole channels", b.stage.Tensor(x).Name)
	}
	return nil
}

// parts calls do for the gradient of every forward tensor in the storage of x
// that lies in the region, until the region has values.
func (b *backward) parts(x ir.Ref, region bitset, do func(d ir.Ref, piece bitset) error) error {
	filled := b.filled[b.stage.Tensor(b.gradient(x)).Storage]
	for i := 0; i < b.known && !filled.covers(region); i++ {
		part := ir.Ref(i + 1)
		if b.stage.Tensor(part).Storage != b.stage.Tensor(x).Storage {
			continue
		}
		d := b.gradient(part)
		piece, err := b.regions.of(d)
		if err != nil {
			return err
		}
		if !region.covers(piece) {
			continue
		}
		if err := do(d, piece); err != nil {
			return err
		}
	}
	return nil
}

func (b *backward) zero(op *ir.Op, d ir.Ref, piece bitset) {
	b.append(op, "zero", &ir.Fill{Y: d})
	b.fill(d, piece)
}

// zeroChannels fills with zeros the channels of a gradient of which no element
// has a value, neighbours together.
func (b *backward) zeroChannels(op *ir.Op, d ir.Ref) error {
	channels, _ := b.stage.Tensor(d).Shape[channelAxis(b.stage.Tensor(d))].Constant()
	filled := b.filled[b.stage.Tensor(d).Storage]
	start := 0
	for end := range channels + 1 {
		missing := false
		if end < channels {
			view := slice(b.stage.Tensor(d), end, end+1)
			piece, err := b.regions.view(&view)
			if err != nil {
				return err
			}
			missing = filled.meets(piece) == 0
		}
		if missing {
			continue
		}
		if start < end {
			run := b.stage.AddTensor(slice(b.stage.Tensor(d), start, end))
			piece, err := b.regions.of(run)
			if err != nil {
				return err
			}
			b.zero(op, run, piece)
		}
		start = end + 1
	}
	return nil
}

// channelAxis is the dimension of the channels of an activation.
func channelAxis(t *ir.Tensor) int {
	if t.Map {
		return 1
	}
	return min(2, len(t.Shape)-1)
}

// slice is the view of the channels from start to end.
func slice(t *ir.Tensor, start, end int) ir.Tensor {
	axis, view := channelAxis(t), *t
	view.Name = fmt.Sprintf("%s channels %d to %d", t.Name, start, end-1)
	view.Shape = slices.Clone(t.Shape)
	view.Shape[axis] = ir.Const(end - start)
	view.Offset = t.Offset.Add(ir.Const(start).Mul(t.Strides[axis]))
	return view
}
