package catalog

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/tasks/segment/objective"
)

// SegmentObjective fits the segmentation objective into a fit.
type SegmentObjective[T device.Float] struct {
	Objective *objective.Objective
	Classes   int
}

// segmentCaptured names the option that records each stage. The head is native
// unless everything is recorded.
var segmentCaptured = map[string]trainer.CaptureOption{
	"features": trainer.CaptureNetwork, "head": trainer.CaptureFull,
	"coefficients": trainer.CaptureSegmentHeads, "fusion": trainer.CaptureSegmentHeads,
	"prototypes": trainer.CaptureSegmentHeads, "semantic": trainer.CaptureSegmentHeads,
}

// Loss implements trainer.Objective.
func (o SegmentObjective[T]) Loss(outputs trainer.Outputs[T], batch *data.Batch, alpha float64) (trainer.Loss[T], error) {
	targets, err := segmentTargets(batch)
	if err != nil {
		return trainer.Loss[T]{}, err
	}
	result, err := objective.Loss(o.Objective, objective.Outputs[T]{
		OneToMany:  objective.Branch[T]{Dense: denseOf(outputs, "o2m"), Coefficient: outputs["o2m_coeff"]},
		OneToOne:   objective.Branch[T]{Dense: denseOf(outputs, "o2o"), Coefficient: outputs["o2o_coeff"]},
		Prototypes: outputs["prototypes"],
		Semantic:   outputs["semantic"],
	}, sizeOf(batch, o.Classes), targets, alpha)
	if err != nil {
		return trainer.Loss[T]{}, err
	}
	loss := trainer.Loss[T]{
		Total:      result.Total,
		Branches:   []trainer.Branch{segmentBranch("o2m", result.OneToMany), segmentBranch("o2o", result.OneToOne)},
		Extra:      []trainer.Term{{Name: "semantic", Value: result.Semantic}},
		Cotangents: map[string][]T{},
	}
	addDense(loss.Cotangents, "o2m", result.Cotangents.OneToMany.Dense)
	addDense(loss.Cotangents, "o2o", result.Cotangents.OneToOne.Dense)
	addPresent(loss.Cotangents, "o2m_coeff", result.Cotangents.OneToMany.Coefficient)
	addPresent(loss.Cotangents, "o2o_coeff", result.Cotangents.OneToOne.Coefficient)
	addPresent(loss.Cotangents, "prototypes", result.Cotangents.Prototypes)
	addPresent(loss.Cotangents, "semantic", result.Cotangents.Semantic)
	return loss, nil
}

// Replaced implements trainer.Objective.
func (o SegmentObjective[T]) Replaced() (string, bool) { return objective.ReplacedBy(o.Objective) }

// segmentTargets takes the masks that the loader made, or makes them.
func segmentTargets(batch *data.Batch) ([]objective.Target, error) {
	targets := make([]objective.Target, len(batch.Targets))
	for i, t := range batch.Targets {
		var masks []*mask.Bitmap
		if batch.Masks != nil {
			masks = batch.Masks[i]
		} else {
			var err error
			if masks, err = data.InstanceMasks(t, batch.W, batch.H, batch.W/data.MaskStride, batch.H/data.MaskStride); err != nil {
				return nil, fmt.Errorf("image %d: %w", i, err)
			}
		}
		targets[i] = objective.Target{Labels: t.Labels, Boxes: t.Boxes}
		for _, m := range masks {
			cells := make([]bool, m.Height*m.Width)
			for at := range cells {
				cells[at] = m.At(at/m.Width, at%m.Width)
			}
			targets[i].Masks = append(targets[i].Masks, cells)
		}
	}
	return targets, nil
}

func segmentBranch(name string, b objective.BranchResult) trainer.Branch {
	terms := append(detectionTerms(b.Terms.DetectionTerms), trainer.Term{Name: "mask", Value: b.Terms.Mask})
	return trainer.Branch{Name: name, Terms: terms, Positives: b.Positives, Quality: b.Quality, Assigned: b.Assigned}
}
