package objective

import (
	"errors"
	"fmt"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// RotatedForm names one of the two forms of the rotated overlap term.
type RotatedForm string

const (
	// Hellinger is 1 - ProbIoU, the default.
	Hellinger RotatedForm = "hellinger"
	// Bhattacharyya is the distance below it, which is not bounded.
	Bhattacharyya RotatedForm = "bhattacharyya"
)

// Gains are the weights of the terms in the total.
type Gains struct {
	Class, Rotated, RotatedL1, Angle float64
}

// Options are the settings of the objective.
type Options struct {
	Gains Gains
	// Form selects the rotated overlap term.
	Form RotatedForm
	// OneToMany and OneToOne assign anchors to objects in the two branches.
	OneToMany, OneToOne yolo26.Assigner
}

// DefaultOptions returns the settings of the specification: gains 0.5, 7.5, 6
// and 0.25, the Hellinger form, top-k 10 and 7.
func DefaultOptions() Options {
	return Options{
		Gains:     Gains{Class: 0.5, Rotated: 7.5, RotatedL1: 6, Angle: 0.25},
		Form:      Hellinger,
		OneToMany: yolo26.OneToManyAssigner(),
		OneToOne:  yolo26.OneToOneAssigner(),
	}
}

// Objective is the oriented-box objective. Its function fields may be replaced
// between steps; none may be nil.
type Objective struct {
	// Class is the classification loss, by default yolo26.BinaryCrossEntropy.
	Class yolo26.ClassLoss
	// Rotated is the rotated overlap term, by default the one that the form
	// selects: yolo26.HellingerTerm or yolo26.BhattacharyyaTerm.
	Rotated yolo26.OrientedTerm
	// RotatedL1 is the centre and extent term, by default yolo26.RotatedL1Term.
	RotatedL1 yolo26.OrientedTerm
	// Angle is the angle term, by default yolo26.AngleTerm.
	Angle yolo26.OrientedTerm

	options Options
}

// New returns the objective with its default functions. A form that does not
// exist, a gain that is negative or not finite, and an assigner setting outside
// its range are errors.
func New(options Options) (*Objective, error) {
	rotated, ok := map[RotatedForm]yolo26.OrientedTerm{
		Hellinger:     yolo26.HellingerTerm,
		Bhattacharyya: yolo26.BhattacharyyaTerm,
	}[options.Form]
	if !ok {
		return nil, fmt.Errorf("rotated loss form %q does not exist; give %q or %q", options.Form, Hellinger, Bhattacharyya)
	}
	err := yolo26.CheckGains(
		yolo26.Gain{Name: "class", Value: options.Gains.Class},
		yolo26.Gain{Name: "rotated box", Value: options.Gains.Rotated},
		yolo26.Gain{Name: "rotated L1", Value: options.Gains.RotatedL1},
		yolo26.Gain{Name: "angle", Value: options.Gains.Angle},
	)
	if err != nil {
		return nil, err
	}
	if err := yolo26.CheckAssigners(options.OneToMany, options.OneToOne); err != nil {
		return nil, err
	}
	return &Objective{
		Class:     yolo26.BinaryCrossEntropy,
		Rotated:   rotated,
		RotatedL1: yolo26.RotatedL1Term,
		Angle:     yolo26.AngleTerm,
		options:   options,
	}, nil
}

func (o *Objective) functions() []yolo26.Function {
	return []yolo26.Function{
		{Name: "classification loss", Function: o.Class, Defaults: []any{yolo26.BinaryCrossEntropy}},
		{Name: "rotated overlap term", Function: o.Rotated, Defaults: []any{yolo26.HellingerTerm, yolo26.BhattacharyyaTerm}},
		{Name: "rotated L1 term", Function: o.RotatedL1, Defaults: []any{yolo26.RotatedL1Term}},
		{Name: "angle term", Function: o.Angle, Defaults: []any{yolo26.AngleTerm}},
	}
}

// complete reports a function field that is nil.
func (o *Objective) complete() error {
	if o == nil {
		return errors.New("objective is nil; make one with New")
	}
	return yolo26.CheckFunctions(o.functions())
}

// Replaced tells by identity whether a function field is not a default one, and
// names the first that is not. A network recording must then stay unused: the
// function may leave the angle gradients absent. A replaced function that was
// put back counts as default again.
//
// A type that embeds Objective inherits this method; ask ReplacedBy about a
// value whose type is not known.
func (o *Objective) Replaced() (name string, replaced bool) {
	return yolo26.ReplacedFunction(o.functions())
}

// ReplacedBy is Replaced for the objective that a trainer was given, whatever
// its type: anything but an *Objective itself, a type that embeds one included,
// has replaced the whole objective.
func ReplacedBy(objective any) (name string, replaced bool) {
	own, ok := objective.(*Objective)
	if !ok || own == nil {
		return "objective", true
	}
	return own.Replaced()
}
