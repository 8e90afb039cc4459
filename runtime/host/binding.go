package host

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// binding implements device.Binding and device.Observable.
type binding[T device.Float] struct {
	stage  *stage[T]
	sizes  ir.Sizes
	memory *memory[T] // inputs, outputs, cotangents and arena
	binder binder[T]
	bytes  int64

	inputs, outputs, cotangents, inputGradients []device.Tensor

	recordings int
	closed     bool
}

// Bind implements device.Stage.
func (s *stage[T]) Bind(sizes ir.Sizes) (device.Binding, error) {
	if s.closed {
		return nil, fmt.Errorf("stage %s is closed", s.plan.Name)
	}
	if err := s.plan.CheckSizes(sizes); err != nil {
		return nil, err
	}
	b := &binding[T]{stage: s, sizes: sizes, memory: newMemory[T](s.plan)}
	if err := b.allocate(); err != nil {
		return nil, fmt.Errorf("stage %s: %w", s.plan.Name, err)
	}
	if err := b.resolve(); err != nil {
		return nil, fmt.Errorf("stage %s: %w", s.plan.Name, err)
	}
	b.size()
	b.bytes = b.memory.bytes + b.binder.work.settle()
	s.device.allocated(b.bytes)
	s.bindings++
	return b, nil
}

// allocate gives every storage of the binding its memory.
func (b *binding[T]) allocate() error {
	plan := b.stage.plan
	sizes := make([]int, len(plan.Storages))
	for i := range plan.Storages {
		st := &plan.Storages[i]
		var err error
		if sizes[i], err = st.Size.Eval(b.sizes); err != nil {
			return fmt.Errorf("storage %s: %w", st.Name, err)
		}
		if persistent(st.Space) {
			b.memory.floats[i] = b.stage.memory.floats[i]
			b.memory.indices[i] = b.stage.memory.indices[i]
			b.memory.counters[i] = b.stage.memory.counters[i]
			continue
		}
		if st.Space == ir.Arena {
			continue
		}
		if err := b.memory.allocate(i, st, sizes[i]); err != nil {
			return err
		}
		poison(b.memory.floats[i])
	}
	return b.memory.arenas(plan, sizes)
}

// resolve finds the view of every tensor and opens the tensors of the ports.
func (b *binding[T]) resolve() error {
	plan := b.stage.plan
	views, err := newViews(plan, b.memory, b.sizes)
	if err != nil {
		return err
	}
	b.binder = binder[T]{plan: plan, views: views, work: &workspace[T]{workers: b.stage.device.pool.workers}}
	open := func(list *[]device.Tensor, name string, ref ir.Ref) error {
		t, err := views.open(b.stage.device, plan, name, ref)
		*list = append(*list, t)
		return err
	}
	for _, p := range plan.Inputs {
		if err := open(&b.inputs, p.Name, p.Tensor); err != nil {
			return err
		}
		if err := open(&b.inputGradients, p.Name, p.Gradient); err != nil {
			return err
		}
	}
	for _, p := range plan.Outputs {
		if err := open(&b.outputs, p.Name, p.Tensor); err != nil {
			return err
		}
		if err := open(&b.cotangents, p.Name, p.Gradient); err != nil {
			return err
		}
	}
	return nil
}

// size prepares every launch once to learn how much scratch the largest needs.
// A program that cannot run at these sizes says so when it is run or recorded:
// others may still be used.
func (b *binding[T]) size() {
	plan := b.stage.plan
	programs := [][]ir.Op{plan.Forward}
	for _, backward := range plan.Backward {
		programs = append(programs, backward.Ops)
	}
	for _, ops := range programs {
		for i := range ops {
			_, _ = b.binder.launch(&ops[i])
		}
	}
}

// Sizes implements device.Binding.
func (b *binding[T]) Sizes() ir.Sizes { return b.sizes }

// Input implements device.Binding.
func (b *binding[T]) Input(i int) device.Tensor { return b.inputs[i] }

// Output implements device.Binding.
func (b *binding[T]) Output(i int) device.Tensor { return b.outputs[i] }

// Cotangent implements device.Binding.
func (b *binding[T]) Cotangent(i int) device.Tensor { return b.cotangents[i] }

// InputGradient implements device.Binding.
func (b *binding[T]) InputGradient(i int) device.Tensor { return b.inputGradients[i] }

// ops lists the operations of a program after checking that it exists.
func (b *binding[T]) ops(p device.Program) ([]ir.Op, error) {
	plan := b.stage.plan
	switch {
	case b.closed:
		return nil, fmt.Errorf("binding of stage %s at %s is closed", plan.Name, b.sizes)
	case p.Backward && (p.Pattern < 0 || p.Pattern >= len(plan.Backward)):
		return nil, fmt.Errorf("stage %s has %d backward programs, none is number %d", plan.Name, len(plan.Backward), p.Pattern)
	case !p.Backward && p.Mode != ir.Training && p.Mode != ir.Eval:
		return nil, fmt.Errorf("stage %s: a forward program has mode %s or %s, not %q", plan.Name, ir.Training, ir.Eval, p.Mode)
	}
	return p.Ops(plan), nil
}

// Run implements device.Binding: every launch is prepared and issued in turn.
func (b *binding[T]) Run(p device.Program) error { return b.run(p, nil) }

// RunObserved implements device.Observable.
func (b *binding[T]) RunObserved(p device.Program, after func(op *ir.Op, tensor func(ir.Ref) device.Tensor) error) error {
	return b.run(p, func(op *ir.Op) error { return after(op, b.tensor) })
}

// tensor opens any tensor of the plan; nil when it has no memory.
func (b *binding[T]) tensor(ref ir.Ref) device.Tensor {
	plan := b.stage.plan
	if ref < 1 || int(ref) > len(plan.Tensors) {
		return nil
	}
	t, err := b.binder.views.open(b.stage.device, plan, plan.Tensor(ref).Name, ref)
	if err != nil {
		return nil
	}
	return t
}

func (b *binding[T]) run(p device.Program, after func(op *ir.Op) error) error {
	ops, err := b.ops(p)
	if err != nil {
		return err
	}
	d := b.stage.device
	for i := range ops {
		if err := d.event("launch"); err != nil {
			return err
		}
		l, err := b.binder.launch(&ops[i])
		if err != nil {
			return err
		}
		d.count(func(c *device.Counters) { c.KernelLaunches++ })
		l.issue(d.pool)
		if after == nil {
			continue
		}
		if err := after(&ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// Close implements device.Binding.
func (b *binding[T]) Close() error {
	plan := b.stage.plan
	if b.closed {
		return fmt.Errorf("binding of stage %s at %s is already closed", plan.Name, b.sizes)
	}
	if b.recordings > 0 {
		return fmt.Errorf("binding of stage %s at %s still has %d open recordings; close them first", plan.Name, b.sizes, b.recordings)
	}
	b.closed = true
	b.stage.bindings--
	b.stage.device.allocated(-b.bytes)
	b.memory = nil
	b.binder = binder[T]{}
	return nil
}
