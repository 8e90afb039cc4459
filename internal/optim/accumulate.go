package optim

import (
	"fmt"
	"math"
)

// Accumulation says how many micro-batches each optimizer step of a fit takes:
// always the same number, or one that grows linearly from 1 to it over a
// warm-up, as trainers do that raise the batch to a nominal size. It is a pure
// function of the micro-batch, so a resumed fit needs nothing but its counters.
type Accumulation struct {
	full   int // micro-batches of a step after the warm-up
	warmup int // micro-batches of the warm-up, 0: none
}

// NewAccumulation is n micro-batches for a step, n at least 1, reached after
// warmupEpochs epochs of batchesPerEpoch micro-batches; fractions of an epoch
// are rounded to whole micro-batches, half to even, and 0 is no warm-up.
func NewAccumulation(n int, warmupEpochs float64, batchesPerEpoch int) (Accumulation, error) {
	if n < 1 {
		return Accumulation{}, fmt.Errorf("accumulate is %d; it must be at least 1", n)
	}
	if !(warmupEpochs >= 0) || math.IsInf(warmupEpochs, 1) {
		return Accumulation{}, fmt.Errorf("accumulate_warmup_epochs is %v; it must be at least 0 and finite", warmupEpochs)
	}
	// No fit has as many micro-batches as the limit, which keeps the integer exact.
	warmup := min(math.RoundToEven(warmupEpochs*float64(batchesPerEpoch)), 1<<53)
	return Accumulation{full: n, warmup: int(warmup)}, nil
}

// Grows reports that not every step takes the same number.
func (a Accumulation) Grows() bool { return a.full > 1 && a.warmup > 0 }

// At is the number of micro-batches of the step whose first one is the
// zero-based micro-batch of the fit: 1 at the first, never less than before, and
// the full number from the end of the warm-up on. Halves round to even.
func (a Accumulation) At(batch int) int {
	if batch >= a.warmup {
		return a.full
	}
	return int(math.RoundToEven(1 + float64(a.full-1)*float64(batch)/float64(a.warmup)))
}

// Batches is the number of micro-batches of the first steps of a fit.
func (a Accumulation) Batches(steps int) int {
	batch := 0
	for ; steps > 0 && batch < a.warmup; steps-- {
		batch += a.At(batch)
	}
	return batch + steps*a.full
}

// Steps is the number of steps that the first micro-batches of a fit complete.
func (a Accumulation) Steps(batches int) int {
	batch, steps := 0, 0
	for batch < a.warmup {
		batch += a.At(batch)
		if batch > batches {
			return steps
		}
		steps++
	}
	return steps + (batches-batch)/a.full
}

// Accumulator counts the micro-batches of an optimizer step. It knows nothing of
// epochs: micro-batches left over at the end of one carry into the next. How many
// a window holds is decided when it opens.
type Accumulator struct {
	accumulation Accumulation
	opened       int // micro-batches before the window
	length       int // of the window
	pending      int
}

// NewAccumulator stands after a number of optimizer steps, 0 in a new fit.
// pending is how many micro-batches of the open window have been added.
func NewAccumulator(a Accumulation, steps, pending int) (*Accumulator, error) {
	opened := a.Batches(steps)
	length := a.At(opened)
	if pending < 0 || pending >= length {
		return nil, fmt.Errorf("%d micro-batches are pending in a window of %d; it must be from 0 to %d", pending, length, length-1)
	}
	return &Accumulator{accumulation: a, opened: opened, length: length, pending: pending}, nil
}

// First reports that the next micro-batch opens a window: gradients are cleared
// to absent before its backward pass.
func (a *Accumulator) First() bool { return a.pending == 0 }

// Pending is the number of micro-batches in the open window.
func (a *Accumulator) Pending() int { return a.pending }

// Add counts one micro-batch whose gradients have been added and reports that
// the optimizer steps now.
func (a *Accumulator) Add() bool {
	a.pending++
	if a.pending < a.length {
		return false
	}
	a.opened += a.length
	a.length, a.pending = a.accumulation.At(a.opened), 0
	return true
}

// LossScale is the factor of a micro-batch's loss, one over the length of the
// window that the next one belongs to.
func (a *Accumulator) LossScale() float64 { return 1 / float64(a.length) }
