package eval

import (
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/precision"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
)

// cocoLimit is COCO's cap on boxes or masks per image and class.
const cocoLimit = 100

// BoxMetric is the epoch metric of axis-aligned boxes. It reads the outputs
// o2o_cls and o2o_box.
type BoxMetric[T device.Float] struct {
	classes int
	boxes   *precision.COCO
	problem error
}

// NewBoxMetric starts an epoch of the given number of classes. A number below 1
// is reported by Add and Result.
func NewBoxMetric[T device.Float](classes int) *BoxMetric[T] {
	boxes, err := precision.NewCOCO(classes, cocoLimit)
	return &BoxMetric[T]{classes, boxes, err}
}

// Add decodes and judges a batch. Outputs that are missing or have a wrong
// length are errors.
func (m *BoxMetric[T]) Add(outputs trainer.Outputs[T], batch *data.Batch) error {
	return m.each(outputs, batch, nil, func(int, decode.Image[T], []decode.Detection) error { return nil })
}

// each judges the boxes of a batch and hands every image with its rows to more,
// which judges what else the task detects.
func (m *BoxMetric[T]) each(outputs trainer.Outputs[T], batch *data.Batch, also []string,
	more func(i int, image decode.Image[T], rows []decode.Detection) error) error {
	if m.problem != nil {
		return m.problem
	}
	list, err := images(outputs, batch, m.classes, also...)
	if err != nil {
		return err
	}
	for i, image := range list {
		rows := positive(image.TopK(decode.DefaultTopK()), func(d decode.Detection) float64 { return d.Score })
		if err := m.boxes.AddBoxes(rows, boxObjects(batch.Targets[i])); err != nil {
			return inImage(batch, i, err)
		}
		if err := more(i, image, rows); err != nil {
			return inImage(batch, i, err)
		}
	}
	return nil
}

// boxObjects are the boxes of a target with their own area: a batch carries no
// annotated one.
func boxObjects(target data.Target) []precision.BoxObject {
	objects := make([]precision.BoxObject, target.Len())
	for i, label := range target.Labels {
		box := target.Boxes[i]
		objects[i] = precision.BoxObject{Object: precision.Object{Class: label, Area: box.Area()}, Box: box}
	}
	return objects
}

// Result is mAP, mAP50, mAP75 and mar_100, each in [0,1], or -1 without objects.
func (m *BoxMetric[T]) Result() ([]trainer.Term, error) {
	if m.problem != nil {
		return nil, m.problem
	}
	terms := precisionTerms("mAP", m.boxes)
	return append(terms, trainer.Term{Name: "mar_100", Value: m.boxes.Recall(precision.AllAreas, cocoLimit)}), nil
}

// precisionTerms are the average precisions of an evaluation: name, name50 and
// name75.
func precisionTerms(name string, evaluation *precision.COCO) []trainer.Term {
	return []trainer.Term{
		{Name: name, Value: evaluation.Precision(precision.AllAreas)},
		{Name: name + "50", Value: evaluation.Precision50()},
		{Name: name + "75", Value: evaluation.Precision75()},
	}
}
