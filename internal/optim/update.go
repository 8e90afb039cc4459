package optim

import (
	"fmt"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Update is what happens between a backward pass and the next forward pass, in
// the order of the YOLO26 specification, training section 2, items 9 to 11:
// unscale, clip, optimizer step, scaler update, schedule, moving average.
// Native and replayed backward passes are followed by the same Update.
type Update[T device.Float] struct {
	Optimizer *MuSGD[T]
	Rate      LearningRate
	Clip      float64     // limit of the global gradient norm, 0: no clipping
	Scaler    *LossScaler // nil: no loss scaling
	EMA       *EMA[T]     // nil: no moving average
	Steps     int         // completed steps, the zero-based number of the next one
}

// Outcome describes one completed step.
type Outcome struct {
	Rate     float64 // learning rate of the step
	Norm     float64 // global gradient norm before clipping, 0 when skipped
	Overflow bool    // the optimizer step was skipped for non-finite scaled gradients
}

// Step finishes one step. live lists the floating-point parameters and buffers
// for the moving average. After an overflow weights and momentum are unchanged,
// while step counter, schedule and moving average still advance, as natively
// (YOLO26 specification, training section 8).
func (u *Update[T]) Step(parameters []Parameter[T], live []Tensor[T]) (Outcome, error) {
	outcome := Outcome{Rate: u.Rate.Rate(u.Steps)}
	if u.Scaler != nil {
		outcome.Overflow = Unscale(u.Scaler, parameters)
	}
	if !outcome.Overflow {
		if u.Clip > 0 {
			outcome.Norm = ClipGlobalNorm(parameters, u.Clip)
		} else {
			outcome.Norm = GlobalNorm(parameters)
		}
		if err := u.Optimizer.Step(outcome.Rate, parameters); err != nil {
			return Outcome{}, fmt.Errorf("step %d: %w", u.Steps, err)
		}
	}
	if u.Scaler != nil {
		u.Scaler.Update(outcome.Overflow)
	}
	u.Steps++
	if u.EMA != nil {
		if err := u.EMA.Step(live); err != nil {
			return Outcome{}, fmt.Errorf("step %d: %w", u.Steps-1, err)
		}
	}
	return outcome, nil
}
