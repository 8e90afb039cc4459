package optim

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reprise-ml/reprise/runtime/device"
)

// MuSGDOptions are the constants of the optimizer, named as in the YOLO26
// specification, training section 1. The learning rate is no constant: Step
// takes the scheduled one.
type MuSGDOptions struct {
	Momentum    float64 // mu, in [0, 1)
	WeightDecay float64 // decoupled decay of matrices, at least 0
	WMuon       float64 // gain of the orthogonalised direction, at least 0
	WSGD        float64 // gain of the momentum direction of matrices, at least 0
	NSSteps     int     // Newton-Schulz iterations, at least 1
}

// DefaultMuSGDOptions returns the values of every published recipe.
func DefaultMuSGDOptions() MuSGDOptions {
	return MuSGDOptions{Momentum: 0.95, WeightDecay: 5e-4, WMuon: 0.5, WSGD: 0.5, NSSteps: 5}
}

// Validate reports the first constant out of its range.
func (o MuSGDOptions) Validate() error {
	// A negated comparison also catches NaN.
	if !(o.Momentum >= 0 && o.Momentum < 1) {
		return fmt.Errorf("momentum is %v; it must be at least 0 and below 1", o.Momentum)
	}
	for _, gain := range []struct {
		name  string
		value float64
	}{{"weight_decay", o.WeightDecay}, {"w_muon", o.WMuon}, {"w_sgd", o.WSGD}} {
		if !(gain.value >= 0) || math.IsInf(gain.value, 1) {
			return fmt.Errorf("%s is %v; it must be at least 0 and finite", gain.name, gain.value)
		}
	}
	if o.NSSteps < 1 {
		return fmt.Errorf("ns_steps is %d; it must be at least 1", o.NSSteps)
	}
	return nil
}

// MuSGD is the hybrid of Muon and SGD with Nesterov momentum that trains YOLO26
// (YOLO26 specification, training section 4). Matrices, tensors of rank 2 and 4,
// get the orthogonalised and the plain momentum direction and decoupled weight
// decay; every other rank gets the plain momentum direction alone.
//
// A MuSGD is for one goroutine at a time; a step uses GOMAXPROCS goroutines of
// its own, one tensor each at a time.
type MuSGD[T device.Float] struct {
	options MuSGDOptions
	slots   map[string]*slot[T]
	step    uint64
	work    []job[T]
	next    atomic.Int64
	scratch []*scratch[T]
}

// slot is what the optimizer keeps of one tensor: its momentum, nil until the
// first present gradient, and the last step that named it.
type slot[T device.Float] struct {
	shape    []int
	momentum []T
	seen     uint64
}

// job is the update of one tensor with a present gradient.
type job[T device.Float] struct {
	parameter *Parameter[T]
	slot      *slot[T]
	matrix    bool
	rows      int
	columns   int
}

// NewMuSGD returns an optimizer without state.
func NewMuSGD[T device.Float](options MuSGDOptions) (*MuSGD[T], error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	return &MuSGD[T]{options: options, slots: map[string]*slot[T]{}}, nil
}

// matrixView returns the rows (dimension 0) and columns (product of the other
// dimensions) of a tensor that the matrix rule covers. Only ranks 2 and 4, the
// ranks of linear and convolution weights, are matrices: a (C,1,1) gain is a
// vector whatever its rank.
func matrixView(shape []int) (rows, columns int, ok bool) {
	if len(shape) != 2 && len(shape) != 4 {
		return 0, 0, false
	}
	columns = 1
	for _, dimension := range shape[1:] {
		columns *= dimension
	}
	return shape[0], columns, true
}

// Step updates every parameter with a present gradient at learning rate lr, and
// leaves the others and their momentum exactly as they are. Parameters may be
// added between steps. An error means that nothing was changed: a nameless or
// repeated parameter, a length that contradicts the shape, a shape that differs
// from the stored momentum's, or a learning rate that is not finite.
func (o *MuSGD[T]) Step(lr float64, parameters []Parameter[T]) error {
	if math.IsNaN(lr) || math.IsInf(lr, 0) {
		return fmt.Errorf("learning rate is %v; it must be finite", lr)
	}
	if err := o.prepare(parameters); err != nil {
		return err
	}
	defer func() { clear(o.work) }() // keep no reference to the caller's tensors
	workers := min(runtime.GOMAXPROCS(0), len(o.work))
	for len(o.scratch) < workers {
		o.scratch = append(o.scratch, new(scratch[T]))
	}
	o.next.Store(0)
	if workers <= 1 {
		if workers == 1 {
			o.run(o.scratch[0], lr)
		}
		return nil
	}
	var group sync.WaitGroup
	for _, s := range o.scratch[:workers] {
		group.Go(func() { o.run(s, lr) })
	}
	group.Wait()
	return nil
}

// prepare checks every parameter and lists the updates, the largest first so
// that the goroutines finish together.
func (o *MuSGD[T]) prepare(parameters []Parameter[T]) error {
	o.step++
	o.work = o.work[:0]
	for i := range parameters {
		p := &parameters[i]
		if err := p.check(); err != nil {
			return err
		}
		s := o.slots[p.Name]
		if s == nil {
			s = &slot[T]{shape: slices.Clone(p.Shape)}
			o.slots[p.Name] = s
		}
		if s.seen == o.step {
			return fmt.Errorf("parameter %q is listed twice; list every parameter once", p.Name)
		}
		s.seen = o.step
		if !slices.Equal(s.shape, p.Shape) {
			if s.momentum != nil {
				return fmt.Errorf("parameter %q has shape %v, its momentum %v; start a new optimizer for a changed network", p.Name, p.Shape, s.shape)
			}
			s.shape = slices.Clone(p.Shape)
		}
		if p.Gradient == nil {
			continue
		}
		j := job[T]{parameter: p, slot: s}
		j.rows, j.columns, j.matrix = matrixView(p.Shape)
		o.work = append(o.work, j)
	}
	for _, j := range o.work {
		if j.slot.momentum == nil {
			j.slot.momentum = make([]T, len(j.parameter.Value))
		}
	}
	slices.SortFunc(o.work, func(a, b job[T]) int { return cmp.Compare(b.cost(), a.cost()) })
	return nil
}

// cost orders updates by their arithmetic.
func (j job[T]) cost() int {
	if !j.matrix {
		return len(j.parameter.Value)
	}
	return len(j.parameter.Value) * (1 + min(j.rows, j.columns))
}

// run takes updates from the list until none is left.
func (o *MuSGD[T]) run(s *scratch[T], lr float64) {
	for {
		i := int(o.next.Add(1)) - 1
		if i >= len(o.work) {
			return
		}
		o.update(s, o.work[i], T(lr))
	}
}

// update applies section 4.2 to one tensor.
func (o *MuSGD[T]) update(s *scratch[T], j job[T], lr T) {
	value, gradient, momentum := j.parameter.Value, j.parameter.Gradient, j.slot.momentum
	mu := T(o.options.Momentum)
	for i, g := range gradient {
		momentum[i] = mu*momentum[i] + g
	}
	if !j.matrix {
		for i, g := range gradient {
			value[i] -= lr * nesterov(g, momentum[i], mu)
		}
		return
	}
	sgd, decay := T(o.options.WSGD), T(o.options.WeightDecay)
	var direction orthogonal[T]
	var muon T
	if o.options.WMuon != 0 {
		direction = orthogonalize(s, gradient, momentum, mu, j.rows, j.columns, o.options.NSSteps)
		muon = T(o.options.WMuon * 0.2 * math.Sqrt(float64(max(j.rows, j.columns))))
	}
	for i := range j.rows {
		for k := range j.columns {
			at := i*j.columns + k
			u := sgd * nesterov(gradient[at], momentum[at], mu)
			// A skipped term is left out, not multiplied by zero: zero times NaN is NaN.
			if o.options.WMuon != 0 {
				u = muon*direction.value[i*direction.rowStride+k*direction.columnStride] + u
			}
			if o.options.WeightDecay != 0 {
				u += decay * value[at]
			}
			value[at] -= lr * u
		}
	}
}

// State returns a copy of every momentum buffer, sorted by name. A tensor that
// never had a gradient has no entry.
func (o *MuSGD[T]) State() []Tensor[T] {
	state := make([]Tensor[T], 0, len(o.slots))
	for name, s := range o.slots {
		if s.momentum != nil {
			state = append(state, Tensor[T]{Name: name, Shape: slices.Clone(s.shape), Value: slices.Clone(s.momentum)})
		}
	}
	slices.SortFunc(state, func(a, b Tensor[T]) int { return cmp.Compare(a.Name, b.Name) })
	return state
}

// Restore replaces the whole state by copies of the given momentum buffers, as
// State returned them. On an error the state is unchanged.
func (o *MuSGD[T]) Restore(state []Tensor[T]) error {
	slots := make(map[string]*slot[T], len(state))
	for _, t := range state {
		if err := checkTensor(t.Name, t.Shape, len(t.Value)); err != nil {
			return fmt.Errorf("momentum: %w", err)
		}
		if slots[t.Name] != nil {
			return fmt.Errorf("momentum: tensor %q is listed twice", t.Name)
		}
		slots[t.Name] = &slot[T]{shape: slices.Clone(t.Shape), momentum: slices.Clone(t.Value)}
	}
	o.slots = slots
	return nil
}
