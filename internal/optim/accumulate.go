package optim

import "fmt"

// Accumulator counts the micro-batches of an optimizer step. It knows nothing of
// epochs: micro-batches left over at the end of one carry into the next.
type Accumulator struct {
	every, pending int
}

// NewAccumulator steps the optimizer on every n-th micro-batch, n at least 1.
// pending is how many micro-batches of an open window have been added, 0 in a
// new fit.
func NewAccumulator(n, pending int) (*Accumulator, error) {
	if n < 1 {
		return nil, fmt.Errorf("accumulate is %d; it must be at least 1", n)
	}
	if pending < 0 || pending >= n {
		return nil, fmt.Errorf("%d micro-batches are pending in a window of %d; it must be from 0 to %d", pending, n, n-1)
	}
	return &Accumulator{every: n, pending: pending}, nil
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
	if a.pending < a.every {
		return false
	}
	a.pending = 0
	return true
}

// LossScale is the factor of a micro-batch's loss, one over the window length.
func (a *Accumulator) LossScale() float64 { return 1 / float64(a.every) }
