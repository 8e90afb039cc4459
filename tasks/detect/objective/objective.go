package objective

import (
	"errors"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Options are the settings of the objective.
type Options = yolo26.Options

// DefaultOptions returns the settings of the specification.
func DefaultOptions() Options { return yolo26.DefaultOptions() }

// Objective is the detection objective. Its function fields, Class and Box, may
// be replaced between steps; none may be nil.
type Objective struct {
	yolo26.Losses

	options Options
}

// New returns the objective with its default functions. A gain that is negative
// or not finite and an assigner setting outside its range are errors.
func New(options Options) (*Objective, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	return &Objective{Losses: yolo26.DefaultLosses(), options: options}, nil
}

// complete reports a function field that is nil.
func (o *Objective) complete() error {
	if o == nil {
		return errors.New("objective is nil; make one with New")
	}
	return yolo26.CheckFunctions(o.Functions())
}

// Replaced tells by identity whether a function field is not the default one,
// and names the first that is not. A type that embeds Objective inherits this
// method; ask ReplacedBy about a value whose type is not known.
func (o *Objective) Replaced() (name string, replaced bool) {
	return yolo26.ReplacedFunction(o.Functions())
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
