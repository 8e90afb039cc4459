package optim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
	"github.com/reprise-ml/reprise/tasks/musgd"
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
	return MuSGDOptions{Momentum: 0.95, WeightDecay: 5e-4, WMuon: 0.5, WSGD: 0.5, NSSteps: musgd.Steps}
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

// steps is how many Newton-Schulz iterations run: none when nothing would come
// of them.
func (o MuSGDOptions) steps() int {
	if o.WMuon == 0 {
		return 0
	}
	return o.NSSteps
}

// scalars are the numbers of one step that the stages read from memory.
func (o MuSGDOptions) scalars(rate float64) map[string]float64 {
	return map[string]float64{
		musgd.Momentum: o.Momentum, musgd.Rate: rate,
		musgd.Muon: rate * o.WMuon, musgd.SGD: rate * o.WSGD, musgd.Decay: rate * o.WeightDecay,
	}
}

// MuSGD is the hybrid of Muon and SGD with Nesterov momentum that trains YOLO26
// (YOLO26 specification, training section 4). Matrices, tensors of rank 2 and 4,
// get the orthogonalised and the plain momentum direction and decoupled weight
// decay; every other rank gets the plain momentum direction alone.
//
// All of its arithmetic but the subtraction of the update is a stage of package
// tasks/musgd, which a fit of the recording runtime runs natively or replays.
// Both ways are the same launches on the same memory, so they are equal byte for
// byte. What the stage gives for a tensor without gradient is dropped.
//
// A MuSGD is for one goroutine at a time.
type MuSGD[T device.Float] struct {
	options MuSGDOptions
	home    Home
	groups  []*group[T]
	slots   map[string]*member[T]
	waiting map[string]Tensor[T] // restored momentum of tensors that have no stage yet
}

// Home is where an optimizer runs: the fit that loads its stages, and the wish
// to record them.
type Home struct {
	Fit  *replay.Fit
	Wish replay.StageOptions
}

// NewMuSGD returns an optimizer without state. Tensors that Place has not been
// told of get stages at home when a step first names them.
func NewMuSGD[T device.Float](home Home, options MuSGDOptions) (*MuSGD[T], error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	return &MuSGD[T]{options: options, home: home, slots: map[string]*member[T]{}, waiting: map[string]Tensor[T]{}}, nil
}

// Home is where the optimizer was started.
func (o *MuSGD[T]) Home() Home { return o.home }

// Place makes a stage for all parameters together, which later steps may then
// name; it looks at names and shapes alone. On an error nothing has changed.
func (o *MuSGD[T]) Place(home Home, parameters []Parameter[T]) error {
	if len(parameters) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for i := range parameters {
		p := &parameters[i]
		switch {
		case o.slots[p.Name] != nil:
			return fmt.Errorf("parameter %q has a stage already; place it once", p.Name)
		case seen[p.Name]:
			return fmt.Errorf("parameter %q is listed twice; list every parameter once", p.Name)
		}
		if w, restored := o.waiting[p.Name]; restored && !slices.Equal(w.Shape, p.Shape) {
			return shapeError(p.Name, p.Shape, w.Shape)
		}
		seen[p.Name] = true
	}
	g, err := newGroup(home, fmt.Sprintf("optimizer%s", number(len(o.groups))), o.options.steps(), parameters)
	if err != nil {
		return err
	}
	o.groups = append(o.groups, g)
	for _, m := range g.members {
		o.slots[m.name] = m
		if w, restored := o.waiting[m.name]; restored {
			copy(m.momentum(), w.Value)
			m.created = true
			delete(o.waiting, m.name)
		}
	}
	return nil
}

// number tells the stages of one optimizer apart: the first has none.
func number(before int) string {
	if before == 0 {
		return ""
	}
	return fmt.Sprintf("_%d", before+1)
}

// Step updates every parameter with a present gradient at learning rate lr, and
// leaves the others and their momentum exactly as they are. Parameters may be
// added between steps. An error means that nothing was changed: a nameless or
// repeated parameter, a length that contradicts the shape, a shape that differs
// from the one known, a learning rate that is not finite, or a stage that could
// not be made or run.
func (o *MuSGD[T]) Step(lr float64, parameters []Parameter[T]) error {
	if math.IsNaN(lr) || math.IsInf(lr, 0) {
		return fmt.Errorf("learning rate is %v; it must be finite", lr)
	}
	if err := o.prepare(parameters); err != nil {
		return err
	}
	defer o.forget()
	scalars := o.options.scalars(lr)
	for _, g := range o.groups {
		if err := g.run(scalars); err != nil {
			return err
		}
	}
	for _, g := range o.groups {
		g.commit()
	}
	return nil
}

// prepare checks every parameter, makes stages for new ones and hands the
// present ones to their places.
func (o *MuSGD[T]) prepare(parameters []Parameter[T]) error {
	seen := make(map[string]bool, len(parameters))
	var added []Parameter[T]
	for i := range parameters {
		p := &parameters[i]
		if err := p.check(); err != nil {
			return err
		}
		if seen[p.Name] {
			return fmt.Errorf("parameter %q is listed twice; list every parameter once", p.Name)
		}
		seen[p.Name] = true
		m := o.slots[p.Name]
		if m == nil {
			added = append(added, *p)
		} else if !slices.Equal(m.shape, p.Shape) {
			return shapeError(p.Name, p.Shape, m.shape)
		}
	}
	if err := o.Place(o.home, added); err != nil {
		return err
	}
	for i := range parameters {
		if p := &parameters[i]; p.Gradient != nil {
			o.slots[p.Name].parameter = p
		}
	}
	return nil
}

// forget keeps no reference to the caller's tensors.
func (o *MuSGD[T]) forget() {
	for _, m := range o.slots {
		m.parameter = nil
	}
}

func shapeError(name string, shape, known []int) error {
	return fmt.Errorf("parameter %q has shape %v, the optimizer knows it with %v; start a new optimizer for a changed network", name, shape, known)
}

// State returns a copy of every momentum buffer, sorted by name. A tensor that
// never had a gradient has no entry.
func (o *MuSGD[T]) State() []Tensor[T] {
	state := make([]Tensor[T], 0, len(o.slots)+len(o.waiting))
	for name, m := range o.slots {
		if m.created {
			state = append(state, Tensor[T]{Name: name, Shape: slices.Clone(m.shape), Value: slices.Clone(m.momentum())})
		}
	}
	for _, w := range o.waiting {
		state = append(state, Tensor[T]{Name: w.Name, Shape: slices.Clone(w.Shape), Value: slices.Clone(w.Value)})
	}
	slices.SortFunc(state, func(a, b Tensor[T]) int { return cmp.Compare(a.Name, b.Name) })
	return state
}

// Restore replaces the whole state by copies of the given momentum buffers, as
// State returned them. On an error the state is unchanged.
func (o *MuSGD[T]) Restore(state []Tensor[T]) error {
	given := make(map[string]Tensor[T], len(state))
	for _, t := range state {
		if err := checkTensor(t.Name, t.Shape, len(t.Value)); err != nil {
			return fmt.Errorf("momentum: %w", err)
		}
		if _, twice := given[t.Name]; twice {
			return fmt.Errorf("momentum: tensor %q is listed twice", t.Name)
		}
		if m := o.slots[t.Name]; m != nil && !slices.Equal(m.shape, t.Shape) {
			return fmt.Errorf("momentum: %w", shapeError(t.Name, t.Shape, m.shape))
		}
		given[t.Name] = Tensor[T]{Name: t.Name, Shape: slices.Clone(t.Shape), Value: slices.Clone(t.Value)}
	}
	for name, m := range o.slots {
		t, found := given[name]
		m.created = found
		clear(m.momentum())
		copy(m.momentum(), t.Value)
		delete(given, name)
	}
	o.waiting = given
	return nil
}
