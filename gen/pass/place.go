package pass

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// place makes the storages and writes the views into the tensors.
func (l *layouter) place() error {
	spaces := l.spaces()
	for i := range l.stage.Tensors {
		ref := ir.Ref(i + 1)
		if _, hangs := l.parent[ref]; hangs {
			continue
		}
		t := &l.stage.Tensors[i]
		space, known := spaces[ref]
		if !known {
			space = ir.Arena
		}
		held := t.Shape
		if t.Map && space == ir.Arena {
			held = padChannels(t.Shape)
		}
		t.Storage = l.stage.AddStorage(ir.Storage{Name: t.Name, Space: space, Elem: t.Elem, Size: ir.Elements(held)})
		t.Strides = ir.RowMajor(held)
		if t.Map {
			t.Strides = ir.ChannelsLast(held)
		}
	}
	for i := range l.stage.Tensors {
		if err := l.view(ir.Ref(i+1), 0); err != nil {
			return err
		}
	}
	return nil
}

// channelMultiple is what the channels of a map in the arena are padded to: 16
// bytes of 16-bit activations, which kernels move at once.
const channelMultiple = 8

// padChannels is the shape that a map takes in memory. The channels beyond the
// last belong to nobody; kernels may write anything there. Maps of few channels
// are not worth it.
func padChannels(shape []ir.Dim) []ir.Dim {
	c, ok := shape[1].Constant()
	if !ok || c < channelMultiple || c%channelMultiple == 0 {
		return shape
	}
	held := append([]ir.Dim(nil), shape...)
	held[1] = ir.Const((c + channelMultiple - 1) / channelMultiple * channelMultiple)
	return held
}

// spaces says where owned storages live; a storage that holds an output is
// kept for the caller whole.
func (l *layouter) spaces() map[ir.Ref]ir.Space {
	spaces := map[ir.Ref]ir.Space{}
	for _, p := range l.stage.Outputs {
		owner := p.Tensor
		for {
			up, hangs := l.parent[owner]
			if !hangs {
				break
			}
			owner = up.parent
		}
		spaces[owner] = ir.Output
	}
	for _, p := range l.stage.Inputs {
		spaces[p.Tensor] = ir.Input
	}
	for _, p := range l.stage.Parameters {
		spaces[p.Tensor] = ir.ParameterSpace
	}
	for _, b := range l.stage.Buffers {
		spaces[b.Tensor] = ir.BufferSpace
	}
	return spaces
}

// view writes storage, offset and strides of a tensor that hangs on another.
func (l *layouter) view(ref ir.Ref, depth int) error {
	t := l.stage.Tensor(ref)
	if t.Storage != 0 {
		return nil
	}
	if depth > len(l.stage.Tensors) {
		return fmt.Errorf("the views of %s go in a circle", t.Name)
	}
	up := l.parent[ref]
	if err := l.view(up.parent, depth+1); err != nil {
		return err
	}
	p := l.stage.Tensor(up.parent)
	t.Storage = p.Storage
	row, channel := gridStrides(p)
	t.Offset = p.Offset.Add(up.rows.Mul(row)).Add(up.start.Mul(channel))
	t.Strides = viewStrides(t, p, up.form)
	return nil
}

// gridStrides gives the steps from row to row and from channel to channel;
// for matrices the channels are their rows.
func gridStrides(t *ir.Tensor) (row, channel ir.Dim) {
	s := t.Strides
	switch {
	case t.Map:
		return s[3], s[1]
	case len(s) == 4:
		return s[3], s[2]
	case len(s) == 3:
		return s[1], s[2]
	case len(s) == 2:
		return ir.Dim{}, s[1]
	}
	return ir.Dim{}, ir.Dim{}
}

// viewStrides gives the strides of a tensor seen through a link.
func viewStrides(t, p *ir.Tensor, form ir.Form) []ir.Dim {
	row, channel := gridStrides(p)
	switch form {
	case ir.Anchors:
		return []ir.Dim{p.Strides[0], row, channel}
	case ir.Heads:
		return []ir.Dim{p.Strides[0], channel.Mul(t.Shape[2]), channel, row}
	case ir.Transpose:
		s := append([]ir.Dim(nil), p.Strides...)
		last := len(s) - 1
		s[last], s[last-1] = s[last-1], s[last]
		return s
	}
	if t.Map { // a range of channels of a map, a range of rows, or matrices seen as a map
		return []ir.Dim{p.Strides[0], channel, row.Mul(t.Shape[3]), row}
	}
	if len(t.Shape) == 4 {
		return append([]ir.Dim(nil), p.Strides...)
	}
	if len(t.Shape) == 2 {
		return []ir.Dim{p.Strides[0], channel}
	}
	return []ir.Dim{p.Strides[0], row, channel}
}
