package optim

import (
	"fmt"
	"math"
)

// LearningRateOptions determine the learning rate of every step of a fit, named
// as in the YOLO26 specification, training section 1.
type LearningRateOptions struct {
	LR              float64 // base learning rate
	LRF             float64 // final fraction of it
	WarmupEpochs    float64 // length of the linear warm-up, fractions allowed
	MaxEpochs       int     // 0: no epoch budget, constant rate
	BatchesPerEpoch int
	Accumulate      int // micro-batches of one optimizer step, at least 1

	// AccumulateWarmupEpochs is how long Accumulate grows from 1; 0: not at all.
	AccumulateWarmupEpochs float64
}

// Accumulation is that of the fit whose schedule this is.
func (o LearningRateOptions) Accumulation() (Accumulation, error) {
	return NewAccumulation(o.Accumulate, o.AccumulateWarmupEpochs, o.BatchesPerEpoch)
}

// LearningRate is linear warm-up followed by linear decay, per optimizer step
// (YOLO26 specification, training section 5). It is a pure function of the step,
// so a resumed fit needs nothing but its step counter.
type LearningRate struct {
	base, final   float64
	total, warmup int
	constant      bool
}

// NewLearningRate fixes the schedule of a fit.
func NewLearningRate(o LearningRateOptions) (LearningRate, error) {
	switch {
	case !(o.LR >= 0) || math.IsInf(o.LR, 1):
		return LearningRate{}, fmt.Errorf("lr is %v; it must be at least 0 and finite", o.LR)
	case !(o.LRF >= 0) || math.IsInf(o.LRF, 1):
		return LearningRate{}, fmt.Errorf("lrf is %v; it must be at least 0 and finite", o.LRF)
	case math.IsNaN(o.WarmupEpochs) || math.IsInf(o.WarmupEpochs, 0):
		return LearningRate{}, fmt.Errorf("warmup_epochs is %v; it must be finite", o.WarmupEpochs)
	case o.BatchesPerEpoch < 0:
		return LearningRate{}, fmt.Errorf("an epoch has %d batches; it cannot have fewer than 0", o.BatchesPerEpoch)
	}
	accumulation, err := o.Accumulation()
	if err != nil {
		return LearningRate{}, err
	}
	s := LearningRate{base: o.LR, final: o.LRF}
	if o.MaxEpochs <= 0 || (o.LRF >= 1 && o.WarmupEpochs <= 0) {
		s.constant = true
		return s, nil
	}
	if accumulation.Grows() {
		s.total, s.warmup = o.growing(accumulation)
		return s, nil
	}
	steps := (o.BatchesPerEpoch + o.Accumulate - 1) / o.Accumulate
	s.total = max(1, o.MaxEpochs*steps)
	warmup := math.RoundToEven(float64(s.total) * o.WarmupEpochs / float64(o.MaxEpochs))
	s.warmup = int(min(max(warmup, 0), float64(s.total-1)))
	return s, nil
}

// growing counts the steps of a fit, and those of the warm-up of its rate, where
// epochs differ in steps, so that an epoch has no number of them from which the
// specification's formula could go on: the last step that the fit completes has
// the final rate, and the warm-up takes the epochs that were asked for.
func (o LearningRateOptions) growing(a Accumulation) (total, warmup int) {
	total = max(1, a.Steps(o.MaxEpochs*o.BatchesPerEpoch))
	epochs := min(max(o.WarmupEpochs, 0), float64(o.MaxEpochs))
	warmup = a.Steps(int(math.RoundToEven(epochs * float64(o.BatchesPerEpoch))))
	return total, min(warmup, total-1)
}

// Factor is the fraction of the base rate at zero-based optimizer step k.
func (s LearningRate) Factor(k int) float64 {
	if s.constant {
		return 1
	}
	if k < s.warmup {
		return float64(k+1) / float64(s.warmup)
	}
	progress := float64(k-s.warmup) / float64(max(1, s.total-s.warmup-1))
	return 1 - (1-s.final)*min(1, progress)
}

// Rate is the learning rate at zero-based optimizer step k.
func (s LearningRate) Rate(k int) float64 { return s.base * s.Factor(k) }

// Constant reports that the rate never changes.
func (s LearningRate) Constant() bool { return s.constant }

// BranchWeight is the weight alpha of the one-to-many branch over a fit (YOLO26
// specification, training section 5, progressive loss).
type BranchWeight struct {
	Alpha      float64 // without an epoch budget, and before the first epoch
	AlphaInit  float64 // in the first epoch
	AlphaFinal float64 // in the last epoch
}

// At is alpha in zero-based epoch e of epochs. A negative e, validation before
// training, and epochs below 1 give the seed Alpha.
func (w BranchWeight) At(e, epochs int) float64 {
	if e < 0 || epochs < 1 {
		return w.Alpha
	}
	remaining := max(1-float64(e)/float64(max(epochs-1, 1)), 0)
	return remaining*(w.AlphaInit-w.AlphaFinal) + w.AlphaFinal
}

// MosaicProbability is the probability of mosaic augmentation in zero-based
// epoch e of epochs: 1, and 0 in the last closeMosaic epochs. Depending on the
// epoch number alone, it is right after a resume too (YOLO26 specification,
// training section 5).
func MosaicProbability(e, epochs, closeMosaic int) float64 {
	if closeMosaic > 0 && e >= epochs-closeMosaic {
		return 0
	}
	return 1
}
