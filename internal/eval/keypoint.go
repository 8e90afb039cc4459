package eval

import (
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/precision"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
)

// keypointLimit is COCO's cap on sets of keypoints per image and class.
const keypointLimit = 20

// KeypointMetric is the epoch metric of boxes with keypoints. It reads the
// outputs o2o_cls, o2o_box and o2o_keypoint.
type KeypointMetric[T device.Float] struct {
	boxes     *BoxMetric[T]
	keypoints *precision.COCO
	sigmas    []float64
}

// NewKeypointMetric starts an epoch of the given numbers of classes and of
// keypoints per object. A number of classes below 1 is reported by Add and
// Result.
func NewKeypointMetric[T device.Float](classes, points int) *KeypointMetric[T] {
	boxes := NewBoxMetric[T](classes)
	keypoints, err := precision.NewCOCO(classes, keypointLimit)
	boxes.problem = err
	return &KeypointMetric[T]{boxes, keypoints, precision.Sigmas(points)}
}

// Add decodes and judges a batch. Outputs that are missing or have a wrong
// length and objects without their keypoints are errors.
func (m *KeypointMetric[T]) Add(outputs trainer.Outputs[T], batch *data.Batch) error {
	also := []string{outputKeypoint}
	return m.boxes.each(outputs, batch, also, func(i int, image decode.Image[T], rows []decode.Detection) error {
		objects, err := keypointObjects(batch.Targets[i])
		if err != nil {
			return err
		}
		detections := make([]precision.KeypointDetection, len(rows))
		for d, row := range rows {
			detections[d] = precision.KeypointDetection{Pick: row.Pick, Points: image.Keypoints(row.Anchor)}
		}
		return m.keypoints.AddKeypoints(detections, objects, m.sigmas)
	})
}

// keypointObjects are the keypoints of a target. A batch carries no annotated
// area, so that of the tight box of the labelled points stands in for it, at
// least 1 (YOLO26 specification, data and evaluation section 9.2).
func keypointObjects(target data.Target) ([]precision.KeypointObject, error) {
	if err := oneEach(target, len(target.Keypoints), "sets of keypoints"); err != nil {
		return nil, err
	}
	objects := make([]precision.KeypointObject, target.Len())
	for i, label := range target.Labels {
		object := precision.KeypointObject{Points: target.Keypoints[i], Visibility: target.Visibility[i]}
		object.Box = geometry.Envelope(object.Labelled())
		object.Object = precision.Object{Class: label, Area: max(object.Box.Area(), 1)}
		objects[i] = object
	}
	return objects, nil
}

// Result is that of the boxes, then oks_mAP, oks_mAP50 and oks_mAP75.
func (m *KeypointMetric[T]) Result() ([]trainer.Term, error) {
	terms, err := m.boxes.Result()
	if err != nil {
		return nil, err
	}
	return append(terms, precisionTerms("oks_mAP", m.keypoints)...), nil
}
