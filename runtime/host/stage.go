package host

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// stage implements device.Stage.
type stage[T device.Float] struct {
	device *Device
	plan   *ir.Stage
	memory *memory[T] // parameters, gradients and buffers

	parameters, gradients, buffers []device.Tensor

	bindings int
	closed   bool
}

func load[T device.Float](d *Device, plan *ir.Stage) (device.Stage, error) {
	if err := checkOps(plan); err != nil {
		return nil, err
	}
	s := &stage[T]{device: d, plan: plan, memory: newMemory[T](plan)}
	for i := range plan.Storages {
		st := &plan.Storages[i]
		if !persistent(st.Space) {
			continue
		}
		size, constant := st.Size.Constant()
		if !constant {
			return nil, fmt.Errorf("stage %s: storage %s has size %s, which must not depend on the batch", plan.Name, st.Name, st.Size)
		}
		if err := s.memory.allocate(i, st, size); err != nil {
			return nil, fmt.Errorf("stage %s: %w", plan.Name, err)
		}
	}
	if err := s.tensors(); err != nil {
		return nil, fmt.Errorf("stage %s: %w", plan.Name, err)
	}
	d.allocated(s.memory.bytes)
	d.opened(1)
	return s, nil
}

// persistent tells whether a space lives as long as the stage.
func persistent(space ir.Space) bool {
	return space == ir.ParameterSpace || space == ir.ParameterGradient || space == ir.BufferSpace
}

// checkOps refuses plans with operations that the passes should have replaced.
func checkOps(plan *ir.Stage) error {
	programs := [][]ir.Op{plan.Forward}
	for _, b := range plan.Backward {
		programs = append(programs, b.Ops)
	}
	for _, ops := range programs {
		for i := range ops {
			if !runnable(ops[i].Do) {
				return fmt.Errorf("%s: operation %s of stage %s has kind %s, which no back end runs; generate the package again", ops[i].Pos, ops[i].Name, plan.Name, ops[i].Do.Kind())
			}
		}
	}
	return nil
}

// tensors opens the tensors of the plan's tables.
func (s *stage[T]) tensors() error {
	views, err := newViews(s.plan, s.memory, ir.Sizes{})
	if err != nil {
		return err
	}
	open := func(name string, ref ir.Ref) (device.Tensor, error) { return views.open(s.device, s.plan, name, ref) }
	for _, p := range s.plan.Parameters {
		value, err := open(p.Name, p.Tensor)
		if err != nil {
			return err
		}
		gradient, err := open(p.Name, p.Gradient)
		if err != nil {
			return err
		}
		s.parameters = append(s.parameters, value)
		s.gradients = append(s.gradients, gradient)
	}
	for _, b := range s.plan.Buffers {
		buffer, err := open(b.Name, b.Tensor)
		if err != nil {
			return err
		}
		s.buffers = append(s.buffers, buffer)
	}
	return nil
}

// Plan implements device.Stage.
func (s *stage[T]) Plan() *ir.Stage { return s.plan }

// Parameter implements device.Stage.
func (s *stage[T]) Parameter(i int) device.Tensor { return s.parameters[i] }

// Gradient implements device.Stage.
func (s *stage[T]) Gradient(i int) device.Tensor { return s.gradients[i] }

// Buffer implements device.Stage.
func (s *stage[T]) Buffer(i int) device.Tensor { return s.buffers[i] }

// Close implements device.Stage.
func (s *stage[T]) Close() error {
	if s.closed {
		return fmt.Errorf("stage %s is already closed", s.plan.Name)
	}
	if s.bindings > 0 {
		return fmt.Errorf("stage %s still has %d open bindings; close them first", s.plan.Name, s.bindings)
	}
	s.closed = true
	s.device.allocated(-s.memory.bytes)
	s.device.opened(-1)
	s.memory = nil
	return nil
}
