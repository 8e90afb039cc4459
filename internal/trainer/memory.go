package trainer

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// block is one tensor of the model as a plain slice: the device's own memory
// where it can be addressed, else a copy that pull and push keep equal.
type block[T device.Float] struct {
	tensor *replay.Tensor
	name   string
	shape  []int
	values []T
	copied bool
}

func newBlock[T device.Float](t *replay.Tensor, name string, shape []int) (*block[T], error) {
	b := &block[T]{tensor: t, name: name, shape: shape}
	inner, err := t.Device()
	if err != nil {
		return nil, err
	}
	if values, ok := host.Slice[T](inner); ok {
		b.values = values
		return b, nil
	}
	b.values, b.copied = make([]T, device.Elements(shape)), true
	return b, nil
}

func (b *block[T]) pull() error {
	if !b.copied {
		return nil
	}
	return device.Read(b.tensor, b.values)
}

func (b *block[T]) push() error {
	if !b.copied {
		return nil
	}
	return device.Write(b.tensor, b.values)
}

// memory is the model's state as plain slices: parameters in the order of the
// plans, then those of the objective.
type memory[T device.Float] struct {
	parameters []*block[T]
	owner      []*replay.Stage // of a parameter; the objective's have none
	index      []int           // of a parameter in its stage
	owned      *owned[T]
	buffers    []*block[T] // floating-point ones
	counters   []counter
	gradients  [][]T // copies, for devices whose memory cannot be addressed
}

// counter is an integer buffer.
type counter struct {
	tensor *replay.Tensor
	name   string
	shape  []int
}

func newMemory[T device.Float](stages []*replay.Stage, own *owned[T]) (*memory[T], error) {
	m := &memory[T]{owned: own}
	for _, s := range stages {
		plan := s.Plan()
		for i, p := range plan.Parameters {
			b, err := newBlock[T](s.Parameter(i), p.Name, p.Shape)
			if err != nil {
				return nil, err
			}
			m.parameters = append(m.parameters, b)
			m.owner, m.index = append(m.owner, s), append(m.index, i)
		}
		for i, p := range plan.Buffers {
			t := s.Buffer(i)
			if t.Type() == device.TypeInt64 {
				m.counters = append(m.counters, counter{tensor: t, name: p.Name, shape: p.Shape})
				continue
			}
			b, err := newBlock[T](t, p.Name, p.Shape)
			if err != nil {
				return nil, err
			}
			m.buffers = append(m.buffers, b)
		}
	}
	m.gradients = make([][]T, len(m.parameters))
	m.parameters = append(m.parameters, own.blocks...)
	return m, nil
}

// optimized lists all parameters with their published gradients; an absent
// gradient is nil.
func (m *memory[T]) optimized() ([]optim.Parameter[T], error) {
	out := make([]optim.Parameter[T], len(m.parameters))
	for i, b := range m.parameters {
		if err := b.pull(); err != nil {
			return nil, err
		}
		out[i] = optim.Parameter[T]{Name: b.name, Shape: b.shape, Value: b.values}
		if i >= len(m.owner) {
			out[i].Gradient = m.owned.gradient(i - len(m.owner))
			continue
		}
		t, presence := m.owner[i].Gradient(m.index[i])
		if presence == replay.Absent {
			continue
		}
		gradient, err := m.gradient(i, t)
		if err != nil {
			return nil, fmt.Errorf("gradient of %s: %w", b.name, err)
		}
		out[i].Gradient = gradient
	}
	return out, nil
}

func (m *memory[T]) gradient(i int, t *replay.Tensor) ([]T, error) {
	inner, err := t.Device()
	if err != nil {
		return nil, err
	}
	if values, ok := host.Slice[T](inner); ok {
		return values, nil
	}
	if m.gradients[i] == nil {
		m.gradients[i] = make([]T, len(m.parameters[i].values))
	}
	return m.gradients[i], device.Read(t, m.gradients[i])
}

// restoreGradient makes a gradient present that was saved in the middle of an
// accumulation window.
func (m *memory[T]) restoreGradient(name string, values []T) error {
	for i, b := range m.parameters {
		switch {
		case b.name != name:
			continue
		case i < len(m.owner):
			return m.owner[i].RestoreGradient(m.index[i], source(values, b.shape))
		}
		return m.owned.add(map[string][]T{name: values}, 1)
	}
	return fmt.Errorf("the checkpoint has a gradient of %s, which the network has not", name)
}

// live lists the tensors that have a moving average: floating-point
// parameters and buffers.
func (m *memory[T]) live() []optim.Tensor[T] {
	var out []optim.Tensor[T]
	for _, blocks := range [][]*block[T]{m.parameters, m.buffers} {
		for _, b := range blocks {
			out = append(out, optim.Tensor[T]{Name: b.name, Shape: b.shape, Value: b.values})
		}
	}
	return out
}

func (m *memory[T]) each(do func(*block[T]) error) error {
	for _, blocks := range [][]*block[T]{m.parameters, m.buffers} {
		for _, b := range blocks {
			if err := do(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *memory[T]) pull() error { return m.each((*block[T]).pull) }
func (m *memory[T]) push() error { return m.each((*block[T]).push) }

// entries lists the whole state for checkpoints.
func (m *memory[T]) entries() ([]checkpoint.Entry[T], error) {
	if err := m.pull(); err != nil {
		return nil, err
	}
	var out []checkpoint.Entry[T]
	err := m.each(func(b *block[T]) error {
		out = append(out, checkpoint.Entry[T]{Name: b.name, Shape: b.shape, Value: b.values})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, c := range m.counters {
		values := make([]int64, device.Elements(c.shape))
		if err := c.tensor.ReadInt64(values); err != nil {
			return nil, err
		}
		out = append(out, checkpoint.Entry[T]{Name: c.name, Shape: c.shape, Count: values})
	}
	return out, nil
}

// store writes entries that entries returned and somebody changed.
func (m *memory[T]) store(entries []checkpoint.Entry[T]) error {
	if err := m.push(); err != nil {
		return err
	}
	counts := map[string][]int64{}
	for _, e := range entries {
		if e.Count != nil {
			counts[e.Name] = e.Count
		}
	}
	for _, c := range m.counters {
		if err := c.tensor.WriteInt64(counts[c.name]); err != nil {
			return err
		}
	}
	return nil
}
