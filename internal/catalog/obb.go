package catalog

import (
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/tasks/obb/objective"
)

// ObbObjective fits the oriented-box objective into a fit. Objective may be
// anything that answers like the task's own; what it is decides guard G7.
type ObbObjective[T device.Float] struct {
	Objective *objective.Objective
	Classes   int
}

// Loss implements trainer.Objective.
func (o ObbObjective[T]) Loss(outputs trainer.Outputs[T], batch *data.Batch, alpha float64) (trainer.Loss[T], error) {
	targets := make([]objective.Target, len(batch.Targets))
	for i, t := range batch.Targets {
		targets[i] = objective.Target{Labels: t.Labels, Boxes: t.Boxes, Rotated: t.Rotated}
	}
	result, err := objective.Loss(o.Objective, objective.Outputs[T]{
		OneToMany: branchOf(outputs, "o2m"),
		OneToOne:  branchOf(outputs, "o2o"),
	}, sizeOf(batch, o.Classes), targets, alpha)
	if err != nil {
		return trainer.Loss[T]{}, err
	}
	loss := trainer.Loss[T]{
		Total:      result.Total,
		Branches:   []trainer.Branch{obbBranch("o2m", result.OneToMany), obbBranch("o2o", result.OneToOne)},
		Cotangents: map[string][]T{},
	}
	addObbCotangents(loss.Cotangents, "o2m", result.Cotangents.OneToMany)
	addObbCotangents(loss.Cotangents, "o2o", result.Cotangents.OneToOne)
	return loss, nil
}

// Replaced implements trainer.Objective.
func (o ObbObjective[T]) Replaced() (string, bool) { return objective.ReplacedBy(o.Objective) }

func branchOf[T device.Float](outputs trainer.Outputs[T], name string) objective.Branch[T] {
	return objective.Branch[T]{Class: outputs[name+"_cls"], Box: outputs[name+"_box"], Angle: outputs[name+"_angle"]}
}

func addObbCotangents[T device.Float](cotangents map[string][]T, name string, b objective.Branch[T]) {
	addPresent(cotangents, name+"_cls", b.Class)
	addPresent(cotangents, name+"_box", b.Box)
	addPresent(cotangents, name+"_angle", b.Angle)
}

func obbBranch(name string, b objective.BranchResult) trainer.Branch {
	return trainer.Branch{
		Name: name,
		Terms: []trainer.Term{
			{Name: "cls", Value: b.Terms.Class},
			{Name: "box", Value: b.Terms.Box},
			{Name: "l1", Value: b.Terms.L1},
			{Name: "rbox", Value: b.Terms.Rotated},
			{Name: "rl1", Value: b.Terms.RotatedL1},
			{Name: "angle", Value: b.Terms.Angle},
		},
		Positives: b.Positives,
		Quality:   b.Quality,
		Assigned:  b.Assigned,
	}
}
