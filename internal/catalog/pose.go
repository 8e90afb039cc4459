package catalog

import (
	"errors"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/tasks/pose/objective"
)

// PoseObjective fits the keypoint objective into a fit. It implements
// trainer.Trained: the flow of the likelihood is trained with the network.
type PoseObjective[T device.Float] struct {
	Objective *objective.Objective
	Classes   int

	flow [][]T
}

// poseCaptured names the option that records each stage. The head is native
// unless everything is recorded.
var poseCaptured = map[string]trainer.CaptureOption{"features": trainer.CaptureNetwork, "head": trainer.CaptureFull}

// Parameters implements trainer.Trained; the Laplace form has none.
func (o PoseObjective[T]) Parameters() []ir.Parameter {
	if !o.Objective.Learnt() {
		return nil
	}
	var out []ir.Parameter
	for _, p := range objective.FlowParameters() {
		out = append(out, ir.Parameter{Name: p.Name, Shape: p.Shape, Init: ir.Initialise{Bound: p.Bound, Value: p.Value}})
	}
	return out
}

// With implements trainer.Trained.
func (o PoseObjective[T]) With(values [][]T) trainer.Objective[T] {
	o.flow = values
	return o
}

// Loss implements trainer.Objective.
func (o PoseObjective[T]) Loss(outputs trainer.Outputs[T], batch *data.Batch, alpha float64) (trainer.Loss[T], error) {
	if o.Objective.Learnt() && o.flow == nil {
		return trainer.Loss[T]{}, errors.New("the keypoint objective has no flow; evaluate what With returns")
	}
	targets := make([]objective.Target, len(batch.Targets))
	for i, t := range batch.Targets {
		targets[i] = objective.Target{Labels: t.Labels, Boxes: t.Boxes, Keypoints: t.Keypoints, Visibility: t.Visibility}
	}
	result, err := objective.Loss(o.Objective, objective.Outputs[T]{
		OneToMany: objective.Branch[T]{Dense: denseOf(outputs, "o2m"), Keypoint: outputs["o2m_keypoint"]},
		OneToOne:  objective.Branch[T]{Dense: denseOf(outputs, "o2o"), Keypoint: outputs["o2o_keypoint"]},
	}, sizeOf(batch, o.Classes), targets, o.flow, alpha)
	if err != nil {
		return trainer.Loss[T]{}, err
	}
	loss := trainer.Loss[T]{
		Total:      result.Total,
		Branches:   []trainer.Branch{poseBranch("o2m", result.OneToMany), poseBranch("o2o", result.OneToOne)},
		Cotangents: map[string][]T{},
		Gradients:  map[string][]T{},
	}
	addDense(loss.Cotangents, "o2m", result.Cotangents.OneToMany.Dense)
	addDense(loss.Cotangents, "o2o", result.Cotangents.OneToOne.Dense)
	addPresent(loss.Cotangents, "o2m_keypoint", result.Cotangents.OneToMany.Keypoint)
	addPresent(loss.Cotangents, "o2o_keypoint", result.Cotangents.OneToOne.Keypoint)
	for i, gradient := range result.Flow {
		loss.Gradients[objective.FlowParameters()[i].Name] = gradient
	}
	return loss, nil
}

// Replaced implements trainer.Objective.
func (o PoseObjective[T]) Replaced() (string, bool) { return objective.ReplacedBy(o.Objective) }

func poseBranch(name string, b objective.BranchResult) trainer.Branch {
	terms := append(detectionTerms(b.Terms.DetectionTerms),
		trainer.Term{Name: "keypoint", Value: b.Terms.Keypoint}, trainer.Term{Name: "oks", Value: b.Terms.Similarity})
	return trainer.Branch{Name: name, Terms: terms, Positives: b.Positives, Quality: b.Quality, Assigned: b.Assigned}
}
