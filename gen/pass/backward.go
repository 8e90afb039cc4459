package pass

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// program makes the backward program of one presence pattern.
func (g *gradients) program(present []string) (ir.Backward, error) {
	b := &backward{gradients: g, filled: map[ir.StorageID]bitset{}, names: map[string]int{}}
	out := ir.Backward{Present: present, Parameters: []string{}}
	if err := b.seed(present); err != nil {
		return out, err
	}
	for i := len(g.stage.Forward) - 1; i >= 0; i-- {
		op := &g.stage.Forward[i]
		if op.Mode == ir.Eval {
			continue
		}
		if err := b.reverse(op); err != nil {
			return out, fmt.Errorf("%s: the gradient of %s: %w", op.Pos, op.Name, err)
		}
	}
	for i := range g.stage.Parameters {
		p := &g.stage.Parameters[i]
		if b.reached(p.Tensor) {
			p.Gradient = g.of[p.Tensor]
			out.Parameters = append(out.Parameters, p.Name)
		}
	}
	for i := range g.stage.Inputs {
		p := &g.stage.Inputs[i]
		if p.Differentiable && b.reached(p.Tensor) {
			p.Gradient = g.of[p.Tensor]
			out.Inputs = append(out.Inputs, p.Name)
		}
	}
	out.Ops = b.ops
	return out, nil
}

// backward is one program under construction: filled tells which elements of
// each gradient storage have a value already.
type backward struct {
	*gradients
	filled map[ir.StorageID]bitset
	ops    []ir.Op
	names  map[string]int
}

func (b *backward) reached(ref ir.Ref) bool {
	d, ok := b.of[ref]
	return ok && b.filled[b.stage.Tensor(d).Storage] != nil
}

// seed brings the cotangents of the present outputs in. When an output owns
// its whole storage, its gradient storage is the caller's cotangent itself;
// otherwise the cotangent is copied to its place.
func (b *backward) seed(present []string) error {
	given := map[string]bool{}
	for _, name := range present {
		given[name] = true
	}
	for i := range b.stage.Outputs {
		p := &b.stage.Outputs[i]
		if !b.wanted(p.Tensor) {
			continue
		}
		if p.Gradient == 0 {
			b.cotangent(p)
		}
		if !given[p.Name] {
			continue
		}
		d := b.gradient(p.Tensor)
		if d == p.Gradient {
			region, err := b.regions.of(d)
			if err != nil {
				return err
			}
			b.fill(d, region)
			continue
		}
		from := *p
		err := b.emit(&ir.Op{Name: p.Name, Pos: p.Pos}, "cotangent", p.Tensor, func(dx ir.Ref, accumulate bool) ir.Kernel {
			return &ir.Copy{X: from.Gradient, Y: dx, Accumulate: accumulate}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cotangent makes the tensor that the caller writes.
func (b *backward) cotangent(p *ir.Port) {
	t := *b.stage.Tensor(p.Tensor)
	whole := t.Offset.Equal(ir.Dim{}) && ir.Elements(t.Shape).Equal(b.stage.Storage(t.Storage).Size)
	if _, taken := b.twins[t.Storage]; whole && !taken {
		d := b.gradient(p.Tensor)
		b.stage.StorageOf(d).Space = ir.Cotangent
		p.Gradient = d
		return
	}
	strides := ir.RowMajor(t.Shape)
	if t.Map {
		strides = ir.ChannelsLast(t.Shape)
	}
	name := "cotangent " + p.Name
	storage := b.stage.AddStorage(ir.Storage{Name: name, Space: ir.Cotangent, Elem: t.Elem, Size: ir.Elements(t.Shape)})
	p.Gradient = b.stage.AddTensor(ir.Tensor{Name: name, Shape: t.Shape, Elem: t.Elem, Map: t.Map, Storage: storage, Strides: strides})
}

// incoming gives the gradient that has arrived at an operation's result,
// completed with zeros; ok is false when none has.
func (b *backward) incoming(op *ir.Op, y ir.Ref) (dy ir.Ref, ok bool, err error) {
	if !b.wanted(y) {
		return 0, false, nil
	}
	dy = b.gradient(y)
	region, err := b.regions.of(dy)
	if err != nil {
		return 0, false, err
	}
	filled := b.filled[b.stage.Tensor(dy).Storage]
	if filled == nil || filled.meets(region) == 0 {
		return 0, false, nil
	}
	return dy, true, b.complete(op, y, region)
}

// emit appends an operation that writes or adds to the gradient of x.
func (b *backward) emit(op *ir.Op, role string, x ir.Ref, kernel func(dx ir.Ref, accumulate bool) ir.Kernel) error {
	if !b.wanted(x) {
		return nil
	}
	dx, accumulate, err := b.arrive(op, x)
	if err != nil {
		return err
	}
	b.append(op, role, kernel(dx, accumulate))
	return nil
}

// arrive gives the gradient of x for an operation that is appended next to write,
// or to add to if it has a value already, which is completed with zeros.
func (b *backward) arrive(op *ir.Op, x ir.Ref) (dx ir.Ref, accumulate bool, err error) {
	dx = b.gradient(x)
	region, err := b.regions.of(dx)
	if err != nil {
		return 0, false, err
	}
	if filled := b.filled[b.stage.Tensor(dx).Storage]; filled != nil && filled.meets(region) > 0 {
		accumulate = true
		if err := b.complete(op, x, region); err != nil {
			return 0, false, err
		}
	}
	b.fill(dx, region)
	return dx, accumulate, nil
}

// meet tells whether a gradient has elements in common with one of others.
func (b *backward) meet(d ir.Ref, others []ir.Ref) (bool, error) {
	region, err := b.regions.of(d)
	if err != nil {
		return false, err
	}
	for _, o := range others {
		if b.stage.Tensor(o).Storage != b.stage.Tensor(d).Storage {
			continue
		}
		other, err := b.regions.of(o)
		if err != nil {
			return false, err
		}
		if region.meets(other) > 0 {
			return true, nil
		}
	}
	return false, nil
}

func (b *backward) fill(d ir.Ref, region bitset) {
	storage := b.stage.Tensor(d).Storage
	if b.filled[storage] == nil {
		b.filled[storage] = make(bitset, len(region))
	}
	b.filled[storage].add(region)
}

func (b *backward) append(op *ir.Op, role string, kernel ir.Kernel) {
	name := op.Name + "." + role
	b.names[name]++
	if n := b.names[name]; n > 1 {
		name = fmt.Sprintf("%s.%d", name, n)
	}
	b.ops = append(b.ops, ir.Op{Name: name, Do: kernel, Pos: op.Pos})
}
