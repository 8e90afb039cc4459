package trainer

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// maxSkipped is how many steps in a row may have a loss that is not finite
// before the fit gives up.
const maxSkipped = 10

// step trains on one micro-batch.
func (f *Fit[T]) step(batch *data.Batch) error {
	if name, replaced := f.task.Objective.Replaced(); replaced {
		for _, s := range f.stages {
			s.SetObjectiveReplaced(name)
		}
	}
	outputs, err := f.forward(batch)
	if err != nil {
		return err
	}
	loss, err := f.task.Objective.Loss(outputs, batch, f.alpha)
	if err != nil {
		return err
	}
	if err := f.log.note(f.at, loss.Total, loss.Terms); err != nil {
		return err
	}
	if f.accumulate.First() {
		for _, s := range f.stages {
			s.ClearGradients()
		}
	}
	if err := f.learn(loss); err != nil {
		return err
	}
	if f.options.Progress != nil {
		f.options.Progress.Step(batch.N, loss.Total, loss.Terms)
	}
	return nil
}

// learn runs the backward pass and, when the accumulation window is full,
// updates the weights. A loss that is not finite has no backward pass: its
// micro-batch adds nothing.
func (f *Fit[T]) learn(loss Loss[T]) error {
	if math.IsNaN(loss.Total) || math.IsInf(loss.Total, 0) {
		f.skipped++
		f.warn(fmt.Sprintf("epoch %d, batch %d: the loss is %g; the step is skipped", f.at.Epoch, f.at.Batch, loss.Total))
		if f.skipped >= maxSkipped {
			return fmt.Errorf("the loss was not finite for %d steps in a row; lower optim.lr or raise optim.warmup_epochs and start from the last good checkpoint", f.skipped)
		}
	} else {
		f.skipped = 0
		if err := f.backward(loss); err != nil {
			return err
		}
	}
	if !f.accumulate.Add() {
		return nil
	}
	parameters, err := f.memory.optimized()
	if err != nil {
		return err
	}
	if err := f.pullBuffers(); err != nil {
		return err
	}
	if _, err := f.update.Step(parameters, f.memory.live()); err != nil {
		return err
	}
	for _, p := range f.memory.parameters {
		if err := p.push(); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fit[T]) pullBuffers() error {
	for _, b := range f.memory.buffers {
		if err := b.pull(); err != nil {
			return err
		}
	}
	return nil
}

// forward runs the stages on a batch. Tasks whose network is one stage have
// the image as its only input.
func (f *Fit[T]) forward(batch *data.Batch) (Outputs[T], error) {
	return f.run(batch, (*replay.Stage).Forward)
}

func (f *Fit[T]) run(batch *data.Batch, run func(*replay.Stage, []replay.Source) ([]*replay.Tensor, error)) (Outputs[T], error) {
	outputs := Outputs[T]{}
	for _, s := range f.stages {
		tensors, err := run(s, []replay.Source{replay.Images(batch.Images, batch.N, batch.H, batch.W)})
		if err != nil {
			return nil, err
		}
		for i, t := range tensors {
			if t == nil {
				continue
			}
			values, err := f.values(t)
			if err != nil {
				return nil, err
			}
			name := s.Plan().Outputs[i].Name
			outputs[name], f.shapes[name] = values, t.Shape()
		}
	}
	return outputs, nil
}

// values gives the elements of an output: its memory where that can be
// addressed, else a copy.
func (f *Fit[T]) values(t *replay.Tensor) ([]T, error) {
	inner, err := t.Device()
	if err != nil {
		return nil, err
	}
	if values, ok := host.Slice[T](inner); ok {
		return values, nil
	}
	n := device.Elements(t.Shape())
	if cap(f.outputs[t.Name()]) < n {
		f.outputs[t.Name()] = make([]T, n)
	}
	values := f.outputs[t.Name()][:n]
	return values, device.Read(t, values)
}

// backward hands the cotangents over, scaled for the accumulation window.
func (f *Fit[T]) backward(loss Loss[T]) error {
	scale := T(f.accumulate.LossScale())
	for i := len(f.stages) - 1; i >= 0; i-- {
		s := f.stages[i]
		sources := make([]replay.Source, len(s.Plan().Outputs))
		for o, port := range s.Plan().Outputs {
			cotangent := loss.Cotangents[port.Name]
			if cotangent == nil {
				continue
			}
			if scale != 1 {
				for k := range cotangent {
					cotangent[k] *= scale
				}
			}
			sources[o] = source(cotangent, f.shapes[port.Name])
		}
		if err := s.Backward(sources); err != nil {
			return err
		}
	}
	return nil
}

func source[T device.Float](values []T, shape []int) replay.Source {
	switch v := any(values).(type) {
	case []float32:
		return replay.Float32s(v, shape...)
	case []float64:
		return replay.Float64s(v, shape...)
	}
	panic("unreachable: Float has two members")
}
