package objective

import (
	"errors"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Options are the settings of the objective.
type Options struct {
	yolo26.Options
	// MaskGain and SemanticGain weigh the two terms.
	MaskGain, SemanticGain float64
}

// DefaultOptions returns the settings of the specification: gains 2.5 and 0.5
// beside those of detection.
func DefaultOptions() Options {
	return Options{Options: yolo26.DefaultOptions(), MaskGain: 2.5, SemanticGain: 0.5}
}

// Objective is the segmentation objective. Its function fields, Class and Box of
// the detection losses included, may be replaced between steps; none may be nil.
type Objective struct {
	yolo26.Losses
	// Mask is the loss of the pixels of one positive that its box holds: logits
	// against 0 or 1. By default it is yolo26.BinaryCrossEntropy.
	Mask yolo26.ClassLoss
	// Semantic is by default SemanticLoss.
	Semantic SemanticTerm

	options Options
}

// New returns the objective with its default functions. A gain that is negative
// or not finite and an assigner setting outside its range are errors.
func New(options Options) (*Objective, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	gains := []yolo26.Gain{{Name: "mask", Value: options.MaskGain}, {Name: "semantic", Value: options.SemanticGain}}
	if err := yolo26.CheckGains(gains...); err != nil {
		return nil, err
	}
	return &Objective{Losses: yolo26.DefaultLosses(), Mask: yolo26.BinaryCrossEntropy, Semantic: SemanticLoss, options: options}, nil
}

func (o *Objective) functions() []yolo26.Function {
	return append(o.Functions(),
		yolo26.Function{Name: "mask loss", Function: o.Mask, Defaults: []any{yolo26.BinaryCrossEntropy}},
		yolo26.Function{Name: "semantic term", Function: o.Semantic, Defaults: []any{SemanticLoss}},
	)
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
// function may leave gradients absent that the default ones do not. A type that
// embeds Objective inherits this method; ask ReplacedBy about a value whose type
// is not known.
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
