package objective

import (
	"errors"
	"fmt"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// LikelihoodForm names one of the two forms of the keypoint likelihood.
type LikelihoodForm string

const (
	// RLE is the Laplace form less the logarithm of a learnt density, the default.
	RLE LikelihoodForm = "rle"
	// Laplace is the negative log-likelihood under independent Laplace
	// distributions. It has no parameters.
	Laplace LikelihoodForm = "laplace_nll"
)

// Options are the settings of the objective.
type Options struct {
	yolo26.Options
	// KeypointGain and SimilarityGain weigh the two keypoint terms.
	KeypointGain, SimilarityGain float64
	// Form selects the keypoint likelihood.
	Form LikelihoodForm
	// OpenConditioner leaves out the activation behind the last linear map of
	// the flow's conditioners, about which the sources disagree (objective
	// section 7, item 2).
	OpenConditioner bool
	// Points is the number of keypoints of an object, at least 1.
	Points int
}

// DefaultOptions returns the settings of the specification for a number of
// keypoints: gains 1 and 0 beside those of detection, the RLE form.
func DefaultOptions(points int) Options {
	return Options{Options: yolo26.DefaultOptions(), KeypointGain: 1, Form: RLE, Points: points}
}

// Objective is the keypoint objective. Its function fields, Class and Box of
// the detection losses included, may be replaced between steps; none may be nil.
type Objective struct {
	yolo26.Losses
	// Keypoint is the likelihood, by default the one that the form selects:
	// RLETerm or LaplaceTerm.
	Keypoint KeypointTerm
	// Similarity is by default SimilarityLoss.
	Similarity SimilarityTerm

	options Options
}

// New returns the objective with its default functions. A form that does not
// exist, a gain that is negative or not finite, no keypoints and an assigner
// setting outside its range are errors.
func New(options Options) (*Objective, error) {
	likelihood, ok := map[LikelihoodForm]KeypointTerm{RLE: RLETerm, Laplace: LaplaceTerm}[options.Form]
	if !ok {
		return nil, fmt.Errorf("keypoint loss form %q does not exist; give %q or %q", options.Form, RLE, Laplace)
	}
	if options.Points < 1 {
		return nil, fmt.Errorf("%d keypoints of an object; give at least 1", options.Points)
	}
	if err := options.Validate(); err != nil {
		return nil, err
	}
	gains := []yolo26.Gain{{Name: "keypoint", Value: options.KeypointGain}, {Name: "similarity", Value: options.SimilarityGain}}
	if err := yolo26.CheckGains(gains...); err != nil {
		return nil, err
	}
	return &Objective{Losses: yolo26.DefaultLosses(), Keypoint: likelihood, Similarity: SimilarityLoss, options: options}, nil
}

// Learnt tells whether the likelihood has a flow.
func (o *Objective) Learnt() bool { return o.options.Form == RLE }

func (o *Objective) functions() []yolo26.Function {
	return append(o.Functions(),
		yolo26.Function{Name: "keypoint term", Function: o.Keypoint, Defaults: []any{RLETerm, LaplaceTerm}},
		yolo26.Function{Name: "similarity term", Function: o.Similarity, Defaults: []any{SimilarityLoss}},
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
