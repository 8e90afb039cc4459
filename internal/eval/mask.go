package eval

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/eval/precision"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
)

// maskRows is how many of the best rows of an image have their masks judged.
const maskRows = 100

// MaskMetric is the epoch metric of boxes with instance masks, which it compares
// on the prototype grid. It reads the outputs o2o_cls, o2o_box, o2o_coeff and
// prototypes.
type MaskMetric[T device.Float] struct {
	boxes *BoxMetric[T]
	masks *precision.COCO
}

// NewMaskMetric starts an epoch of the given number of classes. A number below 1
// is reported by Add and Result.
func NewMaskMetric[T device.Float](classes int) *MaskMetric[T] {
	boxes := NewBoxMetric[T](classes)
	masks, err := precision.NewCOCO(classes, cocoLimit)
	boxes.problem = err
	return &MaskMetric[T]{boxes, masks}
}

// Add decodes and judges a batch. Outputs that are missing or have a wrong
// length and objects without a polygon are errors.
func (m *MaskMetric[T]) Add(outputs trainer.Outputs[T], batch *data.Batch) error {
	prototypes, err := decode.NewPrototypes(outputs[outputPrototypes], batch.N, batch.H, batch.W)
	if err != nil {
		return fmt.Errorf("metric: %w", err)
	}
	also := []string{outputCoefficient}
	return m.boxes.each(outputs, batch, also, func(i int, image decode.Image[T], rows []decode.Detection) error {
		objects, err := maskObjects(batch.Targets[i], prototypes[i].Columns, prototypes[i].Rows, batch.W, batch.H)
		if err != nil {
			return err
		}
		rows = rows[:min(maskRows, len(rows))]
		detections := make([]precision.MaskDetection, len(rows))
		for d, row := range rows {
			bitmap, err := prototypes[i].GridMask(image.Coefficients(row.Anchor), row.Box)
			if err != nil {
				return err
			}
			detections[d] = precision.MaskDetection{Pick: row.Pick, Mask: bitmap}
		}
		return m.masks.AddMasks(detections, objects)
	})
}

// maskObjects rasterises the polygons of a target, in pixels of a canvas, on a
// grid over it.
func maskObjects(target data.Target, columns, rows, width, height int) ([]precision.MaskObject, error) {
	if err := oneEach(target, len(target.Polygons), "polygons"); err != nil {
		return nil, err
	}
	scaleX, scaleY := float64(columns)/float64(width), float64(rows)/float64(height)
	objects := make([]precision.MaskObject, target.Len())
	for i, label := range target.Labels {
		ring := make([]geometry.Point, len(target.Polygons[i]))
		for k, p := range target.Polygons[i] {
			ring[k] = geometry.Point{X: p.X * scaleX, Y: p.Y * scaleY}
		}
		bitmap := mask.Rasterise(ring, columns, rows)
		objects[i] = precision.MaskObject{
			Object: precision.Object{Class: label, Area: float64(bitmap.Area())},
			Mask:   bitmap,
		}
	}
	return objects, nil
}

// Result is that of the boxes, then segm_mAP, segm_mAP50 and segm_mAP75.
func (m *MaskMetric[T]) Result() ([]trainer.Term, error) {
	terms, err := m.boxes.Result()
	if err != nil {
		return nil, err
	}
	return append(terms, precisionTerms("segm_mAP", m.masks)...), nil
}
