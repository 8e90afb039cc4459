package replay

import (
	"errors"
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Stage is a recordable part of a network inside a fit.
type Stage struct {
	fit     *Fit
	plan    *ir.Stage
	loaded  device.Stage
	options StageOptions

	signature *Signature // of the first full training batch; nil before it
	recording *recording // nil while there is none
	bindings  bindings
	step      *step // the last training forward pass; nil before and after a failed one

	trainable []ParameterSignature
	presence  []Presence // per parameter
	reached   [][]int    // per presence pattern: parameters that it gives gradients

	retrained string // guard G5
	changed   string // guard G6
	objective string // guard G7
	observers []*observer

	outputs   life // ends with the next training forward pass
	evaluated life // ends with the next evaluation
	gradients life // ends with the next backward pass or clearing
	state     life // ends with the fit

	counts counts
}

// step is one training step of a stage, from its forward pass on.
type step struct {
	call    *call
	binding device.Binding
	reason  *Reason  // why the forward pass was native; nil when replayed
	spent   bool     // the backward pass has used up the activations
	inputs  []string // inputs whose gradient is present
}

func newStage(f *Fit, plan *ir.Stage, loaded device.Stage, options StageOptions) *Stage {
	s := &Stage{
		fit: f, plan: plan, loaded: loaded, options: options,
		presence:  make([]Presence, len(plan.Parameters)),
		reached:   reachedBy(plan),
		outputs:   life{until: "the next forward pass"},
		evaluated: life{until: "the next evaluation"},
		gradients: life{until: "the next backward pass or clearing of gradients"},
		state:     life{until: "the fit"},
	}
	for i, p := range plan.Parameters {
		s.trainable = append(s.trainable, ParameterSignature{Name: p.Name, Trainable: true})
		s.presence[i] = Absent
	}
	return s
}

// Plan is the plan that the stage runs; it must not be changed.
func (s *Stage) Plan() *ir.Stage { return s.plan }

// Signature is the signature of the fit for this stage; ok is false before the
// first full training batch.
func (s *Stage) Signature() (signature Signature, ok bool) {
	if s.signature == nil {
		return Signature{}, false
	}
	return *s.signature, true
}

// Parameter is the master weight at a position of the plan's table, in FP32
// (float64 in a Float64 fit). Optimizers read and write it in place; its
// storage never moves.
func (s *Stage) Parameter(i int) *Tensor { return newTensor(s.loaded.Parameter(i), &s.state, false) }

// Trainable tells whether the parameter at a position trains.
func (s *Stage) Trainable(i int) bool { return s.trainable[i].Trainable }

// Buffer is the state at a position of the plan's table, such as a running mean.
func (s *Stage) Buffer(i int) *Tensor { return newTensor(s.loaded.Buffer(i), &s.state, false) }

// optionName is what users call the wish to capture this stage.
func (s *Stage) optionName() string {
	if s.options.Option != "" {
		return s.options.Option
	}
	return "capture"
}

func (s *Stage) closeBindings() error {
	for _, l := range []*life{&s.outputs, &s.evaluated, &s.gradients, &s.state} {
		l.until = "the fit"
		l.end()
	}
	s.step = nil
	return s.named("close binding", s.bindings.close())
}

func (s *Stage) closeStage() error { return s.named("close", s.loaded.Close()) }

func (s *Stage) named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("stage %s: %s: %w", s.plan.Name, what, err)
}

// bindings are the sized forms of a stage that are kept: one for the signature
// of the fit, one for the last other training size and one for the last
// evaluation, which leaves the activations of an open step alone.
type bindings struct {
	primary, other, evaluation device.Binding
}

// bind gives the kept binding of a slot if it has the sizes, else replaces it.
func (s *Stage) bind(slot *device.Binding, sizes ir.Sizes) (device.Binding, error) {
	if *slot != nil && (*slot).Sizes() == sizes {
		return *slot, nil
	}
	if *slot != nil {
		old := *slot
		*slot = nil
		if err := old.Close(); err != nil {
			return nil, s.named("close binding", err)
		}
	}
	b, err := s.loaded.Bind(sizes)
	if err != nil {
		return nil, fmt.Errorf("stage %s: bind %s: %w", s.plan.Name, sizes, err)
	}
	*slot = b
	return b, nil
}

func (b *bindings) close() error {
	var errs []error
	for _, slot := range []*device.Binding{&b.primary, &b.other, &b.evaluation} {
		if *slot != nil {
			errs = append(errs, (*slot).Close())
			*slot = nil
		}
	}
	return errors.Join(errs...)
}
