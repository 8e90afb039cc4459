package optim

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
)

// LossScalerOptions are the rules of dynamic loss scaling.
type LossScalerOptions struct {
	Scale          float64 // first scale, a positive finite float32
	GrowthFactor   float64 // above 1
	BackoffFactor  float64 // above 0 and below 1
	GrowthInterval int     // good steps before the scale grows, at least 1
}

// DefaultLossScalerOptions starts at 65536, doubles after 2000 good steps and
// halves on overflow (YOLO26 specification, training section 8).
func DefaultLossScalerOptions() LossScalerOptions {
	return LossScalerOptions{Scale: 65536, GrowthFactor: 2, BackoffFactor: 0.5, GrowthInterval: 2000}
}

// LossScalerState is what a checkpoint keeps of a scaler.
type LossScalerState struct {
	Scale float64 `json:"scale"`
	Good  int     `json:"good"` // good steps since the scale last changed
}

// smallestScale is the smallest normal float32: below it the reciprocal of the
// scale would overflow and no later step could ever be good.
const smallestScale = 0x1p-126

// LossScaler scales an FP16 fit's loss so that small gradients do not vanish.
// The scale always stays a positive, finite, normal float32.
type LossScaler struct {
	options LossScalerOptions
	state   LossScalerState
}

// NewLossScaler returns a scaler at its first scale.
func NewLossScaler(o LossScalerOptions) (*LossScaler, error) {
	if !(o.GrowthFactor > 1) || math.IsInf(o.GrowthFactor, 1) {
		return nil, fmt.Errorf("growth factor is %v; it must be above 1 and finite", o.GrowthFactor)
	}
	if !(o.BackoffFactor > 0 && o.BackoffFactor < 1) {
		return nil, fmt.Errorf("backoff factor is %v; it must be above 0 and below 1", o.BackoffFactor)
	}
	if o.GrowthInterval < 1 {
		return nil, fmt.Errorf("growth interval is %d; it must be at least 1", o.GrowthInterval)
	}
	s := &LossScaler{options: o}
	if err := s.Restore(LossScalerState{Scale: o.Scale}); err != nil {
		return nil, err
	}
	return s, nil
}

// Scale is the factor of the loss of the step at hand. It reaches a backward
// pass only through the cotangents that the objective writes.
func (s *LossScaler) Scale() float64 { return s.state.Scale }

// State returns what Restore needs.
func (s *LossScaler) State() LossScalerState { return s.state }

// Restore continues from a stored state.
func (s *LossScaler) Restore(state LossScalerState) error {
	if !(state.Scale >= smallestScale && state.Scale <= math.MaxFloat32) {
		return fmt.Errorf("loss scale is %v; it must be a positive, normal float32", state.Scale)
	}
	if state.Good < 0 {
		return fmt.Errorf("loss scaler counts %d good steps; it cannot count fewer than 0", state.Good)
	}
	s.state = state
	return nil
}

// Update notes whether the step's gradients overflowed and sets the scale of the
// next step.
func (s *LossScaler) Update(overflow bool) {
	if overflow {
		s.state = LossScalerState{Scale: max(s.state.Scale*s.options.BackoffFactor, smallestScale)}
		return
	}
	s.state.Good++
	if s.state.Good < s.options.GrowthInterval {
		return
	}
	s.state.Good = 0
	if grown := s.state.Scale * s.options.GrowthFactor; grown <= math.MaxFloat32 {
		s.state.Scale = grown
	}
}

// Unscale divides every present gradient by the scale and reports whether any
// element is infinite or not a number; the step is then skipped.
func Unscale[T device.Float](s *LossScaler, parameters []Parameter[T]) (overflow bool) {
	inverse := T(1 / s.state.Scale)
	for i := range parameters {
		gradient := parameters[i].Gradient
		for k, g := range gradient {
			g *= inverse
			gradient[k] = g
			// The difference is 0 for every finite number and NaN otherwise.
			if g-g != 0 {
				overflow = true
			}
		}
	}
	return overflow
}
