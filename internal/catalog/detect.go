package catalog

import (
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/tasks/detect/objective"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// DetectObjective fits the detection objective into a fit.
type DetectObjective[T device.Float] struct {
	Objective *objective.Objective
	Classes   int
}

// Loss implements trainer.Objective.
func (o DetectObjective[T]) Loss(outputs trainer.Outputs[T], batch *data.Batch, alpha float64) (trainer.Loss[T], error) {
	targets := make([]objective.Target, len(batch.Targets))
	for i, t := range batch.Targets {
		targets[i] = objective.Target{Labels: t.Labels, Boxes: t.Boxes}
	}
	result, err := objective.Loss(o.Objective, objective.Outputs[T]{
		OneToMany: denseOf(outputs, "o2m"),
		OneToOne:  denseOf(outputs, "o2o"),
	}, sizeOf(batch, o.Classes), targets, alpha)
	if err != nil {
		return trainer.Loss[T]{}, err
	}
	cotangents := map[string][]T{}
	addDense(cotangents, "o2m", result.Cotangents.OneToMany)
	addDense(cotangents, "o2o", result.Cotangents.OneToOne)
	return trainer.Loss[T]{
		Total:      result.Total,
		Branches:   []trainer.Branch{detectBranch("o2m", result.OneToMany), detectBranch("o2o", result.OneToOne)},
		Cotangents: cotangents,
	}, nil
}

// Replaced implements trainer.Objective.
func (o DetectObjective[T]) Replaced() (string, bool) { return objective.ReplacedBy(o.Objective) }

func detectBranch(name string, b objective.BranchResult) trainer.Branch {
	return trainer.Branch{Name: name, Terms: detectionTerms(b.Terms), Positives: b.Positives, Quality: b.Quality, Assigned: b.Assigned}
}

// detectionTerms names the terms that every task has.
func detectionTerms(t yolo26.DetectionTerms) []trainer.Term {
	return []trainer.Term{{Name: "cls", Value: t.Class}, {Name: "box", Value: t.Box}, {Name: "l1", Value: t.L1}}
}

func sizeOf(batch *data.Batch, classes int) yolo26.Size {
	return yolo26.Size{Batch: batch.N, Height: batch.H, Width: batch.W, Classes: classes}
}

// denseOf gives the outputs that every task has in a branch.
func denseOf[T device.Float](outputs trainer.Outputs[T], branch string) yolo26.Dense[T] {
	return yolo26.Dense[T]{Class: outputs[branch+"_cls"], Box: outputs[branch+"_box"]}
}

func addDense[T device.Float](cotangents map[string][]T, branch string, d yolo26.Dense[T]) {
	addPresent(cotangents, branch+"_cls", d.Class)
	addPresent(cotangents, branch+"_box", d.Box)
}

// addPresent enters a cotangent under the name of its output; nil is absent.
func addPresent[T device.Float](cotangents map[string][]T, name string, values []T) {
	if values != nil {
		cotangents[name] = values
	}
}
