package optim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/reprise-ml/reprise/runtime/device"
)

// EMAOptions are the constants of the moving average, named as in the YOLO26
// specification, training section 1.
type EMAOptions struct {
	Decay       float64 // ceiling of the decay, in [0, 1)
	Tau         float64 // updates over which the decay rises, above 0
	UpdateEvery int     // optimizer steps per update, at least 1
}

// DefaultEMAOptions returns the values of every published recipe.
func DefaultEMAOptions() EMAOptions {
	return EMAOptions{Decay: 0.9999, Tau: 2000, UpdateEvery: 1}
}

// Validate reports the first constant out of its range.
func (o EMAOptions) Validate() error {
	if !(o.Decay >= 0 && o.Decay < 1) {
		return fmt.Errorf("ema_decay is %v; it must be at least 0 and below 1", o.Decay)
	}
	if !(o.Tau > 0) || math.IsInf(o.Tau, 1) {
		return fmt.Errorf("ema_tau is %v; it must be above 0 and finite", o.Tau)
	}
	if o.UpdateEvery < 1 {
		return fmt.Errorf("ema_update_every is %d; it must be at least 1", o.UpdateEvery)
	}
	return nil
}

// DecayAt is the decay of update t, counted from 1: Decay*(1 - exp(-t/Tau)).
func (o EMAOptions) DecayAt(t int) float64 {
	return o.Decay * (1 - math.Exp(-float64(t)/o.Tau))
}

// EMACounters is where a moving average stands.
type EMACounters struct {
	Updates int `json:"updates"` // t, updates made
	Steps   int `json:"steps"`   // optimizer steps seen, the phase of update_every
}

// EMA is the exponential moving average of a model: of every floating-point
// parameter and every floating-point buffer, batch-norm statistics included.
// Integer buffers have no average and cannot be given to it; evaluation reads
// them live (YOLO26 specification, training section 7).
type EMA[T device.Float] struct {
	options  EMAOptions
	shadow   map[string]*average[T]
	counters EMACounters
	check    uint64 // number of the latest match
}

// average is the shadow of one tensor and the latest match that named it.
type average[T device.Float] struct {
	Tensor[T]
	seen uint64
}

// NewEMA starts an average whose shadow is a copy of the live tensors.
func NewEMA[T device.Float](options EMAOptions, live []Tensor[T]) (*EMA[T], error) {
	e := &EMA[T]{options: options}
	if err := options.Validate(); err != nil {
		return nil, err
	}
	if err := e.Restore(live, EMACounters{}); err != nil {
		return nil, err
	}
	return e, nil
}

// Restore replaces shadow and counters by stored ones, so that the average
// continues with the decay it had. On an error nothing is changed.
func (e *EMA[T]) Restore(shadow []Tensor[T], counters EMACounters) error {
	if counters.Updates < 0 || counters.Steps < counters.Updates {
		return fmt.Errorf("moving average counts %d updates in %d steps; there cannot be fewer steps than updates", counters.Updates, counters.Steps)
	}
	copies := make(map[string]*average[T], len(shadow))
	for _, t := range shadow {
		if err := checkTensor(t.Name, t.Shape, len(t.Value)); err != nil {
			return fmt.Errorf("moving average: %w", err)
		}
		if copies[t.Name] != nil {
			return fmt.Errorf("moving average: tensor %q is listed twice", t.Name)
		}
		copies[t.Name] = &average[T]{Tensor: Tensor[T]{Name: t.Name, Shape: slices.Clone(t.Shape), Value: slices.Clone(t.Value)}}
	}
	e.shadow, e.counters = copies, counters
	return nil
}

// State returns a copy of the shadow, sorted by name, and the counters.
func (e *EMA[T]) State() ([]Tensor[T], EMACounters) {
	state := make([]Tensor[T], 0, len(e.shadow))
	for _, t := range e.shadow {
		state = append(state, Tensor[T]{Name: t.Name, Shape: slices.Clone(t.Shape), Value: slices.Clone(t.Value)})
	}
	slices.SortFunc(state, func(a, b Tensor[T]) int { return cmp.Compare(a.Name, b.Name) })
	return state, e.counters
}

// Step notes one optimizer step and, every UpdateEvery of them, moves the shadow
// towards the live tensors. It reads the weights after the step and the
// statistics after the forward pass. An accumulated micro-batch is no step.
func (e *EMA[T]) Step(live []Tensor[T]) error {
	if err := e.match(live); err != nil {
		return err
	}
	e.counters.Steps++
	if e.counters.Steps%e.options.UpdateEvery != 0 {
		return nil
	}
	e.counters.Updates++
	decay := e.options.DecayAt(e.counters.Updates)
	keep, take := T(decay), T(1-decay)
	for i := range live {
		shadow := e.shadow[live[i].Name].Value
		for k, v := range live[i].Value {
			shadow[k] = keep*shadow[k] + take*v
		}
	}
	return nil
}

// Swap exchanges the live tensors with the shadow. A caller evaluates between
// two calls, the second deferred so that it also happens after a failure.
// Exchanging bits in place, it needs no second copy and restores exactly.
func (e *EMA[T]) Swap(live []Tensor[T]) error {
	if err := e.match(live); err != nil {
		return err
	}
	for i := range live {
		shadow := e.shadow[live[i].Name].Value
		for k := range shadow {
			shadow[k], live[i].Value[k] = live[i].Value[k], shadow[k]
		}
	}
	return nil
}

// match checks, before anything is copied, that live and shadow hold the same
// tensors: a missing shadow is an error, never a silent use of raw weights.
func (e *EMA[T]) match(live []Tensor[T]) error {
	e.check++
	for i := range live {
		shadow := e.shadow[live[i].Name]
		if shadow == nil {
			return fmt.Errorf("tensor %q has no moving average; start the average from all floating-point parameters and buffers", live[i].Name)
		}
		if !slices.Equal(shadow.Shape, live[i].Shape) || len(shadow.Value) != len(live[i].Value) {
			return fmt.Errorf("tensor %q has shape %v, its moving average %v", live[i].Name, live[i].Shape, shadow.Shape)
		}
		if shadow.seen == e.check {
			return fmt.Errorf("tensor %q is listed twice; list every tensor once", live[i].Name)
		}
		shadow.seen = e.check
	}
	if len(live) != len(e.shadow) {
		return fmt.Errorf("moving average holds %d tensors, the model %d; give every tensor once", len(e.shadow), len(live))
	}
	return nil
}
