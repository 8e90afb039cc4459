package eval

import (
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/precision"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
)

// OrientedMetric is the epoch metric of rotated boxes. It reads the outputs
// o2o_cls, o2o_box and o2o_angle.
type OrientedMetric[T device.Float] struct {
	classes    int
	evaluation *precision.Oriented
	problem    error
}

// NewOrientedMetric starts an epoch of the given number of classes. A number
// below 1 is reported by Add and Result.
func NewOrientedMetric[T device.Float](classes int) *OrientedMetric[T] {
	evaluation, err := precision.NewOriented(classes, decode.DefaultTopK().Limit)
	return &OrientedMetric[T]{classes, evaluation, err}
}

// Add decodes and judges a batch. Outputs that are missing or have a wrong
// length and objects without a rotated box are errors.
func (m *OrientedMetric[T]) Add(outputs trainer.Outputs[T], batch *data.Batch) error {
	if m.problem != nil {
		return m.problem
	}
	list, err := images(outputs, batch, m.classes, outputAngle)
	if err != nil {
		return err
	}
	for i, image := range list {
		if err := m.add(image, batch.Targets[i]); err != nil {
			return inImage(batch, i, err)
		}
	}
	return nil
}

func (m *OrientedMetric[T]) add(image decode.Image[T], target data.Target) error {
	if err := oneEach(target, len(target.Rotated), "rotated boxes"); err != nil {
		return err
	}
	objects := make([]precision.RotatedObject, target.Len())
	for i, label := range target.Labels {
		objects[i] = precision.RotatedObject{Class: label, Box: target.Rotated[i]}
		if len(target.Difficult) > 0 {
			objects[i].Difficult = target.Difficult[i]
		}
	}
	rows, err := image.TopKRotated(decode.DefaultTopK())
	if err != nil {
		return err
	}
	return m.evaluation.Add(positive(rows, func(d decode.Rotated) float64 { return d.Score }), objects)
}

// Result is rotated_mAP50, rotated_mAP, rotated_mAP75 and mar_300, each in [0,1],
// or -1 without any object that is not difficult.
func (m *OrientedMetric[T]) Result() ([]trainer.Term, error) {
	if m.problem != nil {
		return nil, m.problem
	}
	return []trainer.Term{
		{Name: "rotated_mAP50", Value: m.evaluation.Precision50()},
		{Name: "rotated_mAP", Value: m.evaluation.Precision()},
		{Name: "rotated_mAP75", Value: m.evaluation.Precision75()},
		{Name: "mar_300", Value: m.evaluation.Recall()},
	}, nil
}
