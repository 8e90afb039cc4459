package validate

import (
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/eval/overlap"
	"github.com/reprise-ml/reprise/internal/eval/precision"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/predict"
)

// Bounds of the confusion: detections from this score, pairs from this overlap.
const (
	confusionScore   = 0.25
	confusionOverlap = 0.5
)

// judge compares the instances of images with their labels.
type judge struct {
	task      string
	boxes     *precision.COCO
	masks     *precision.COCO
	keypoints *precision.COCO
	oriented  *precision.Oriented
	confusion *precision.Confusion
	sigmas    []float64
}

func newJudge(task string, classes, points int) (*judge, error) {
	j := &judge{task: task, sigmas: precision.Sigmas(points)}
	var err error
	if j.confusion, err = precision.NewConfusion(classes, confusionScore, confusionOverlap); err != nil {
		return nil, err
	}
	if task == "obb" {
		j.oriented, err = precision.NewOriented(classes, decode.DefaultTopK().Limit)
		return j, err
	}
	if j.boxes, err = precision.NewCOCO(classes, 100); err != nil {
		return nil, err
	}
	switch task {
	case "segment":
		j.masks, err = precision.NewCOCO(classes, 100)
	case "pose":
		j.keypoints, err = precision.NewCOCO(classes, 20)
	}
	return j, err
}

// add judges one image of width x height pixels.
func (j *judge) add(found []predict.Instance, target data.Target, width, height int) error {
	if err := j.addConfusion(found, target); err != nil {
		return err
	}
	if j.oriented != nil {
		return j.addOriented(found, target)
	}
	rows := make([]decode.Detection, len(found))
	for i, f := range found {
		rows[i] = decode.Detection{Pick: pick(f, i), Box: f.Box}
	}
	objects := make([]precision.BoxObject, target.Len())
	for i, label := range target.Labels {
		objects[i] = precision.BoxObject{Object: precision.Object{Class: label, Area: target.Boxes[i].Area()}, Box: target.Boxes[i]}
	}
	if err := j.boxes.AddBoxes(rows, objects); err != nil {
		return err
	}
	if j.masks != nil {
		return j.addMasks(found, target, width, height)
	}
	if j.keypoints != nil {
		return j.addKeypoints(found, target)
	}
	return nil
}

// pick is the class and score of an instance; its rank stands for the anchor.
func pick(f predict.Instance, rank int) decode.Pick {
	return decode.Pick{Anchor: rank, Class: f.Class, Score: f.Score}
}

func (j *judge) addOriented(found []predict.Instance, target data.Target) error {
	rows := make([]decode.Rotated, len(found))
	for i, f := range found {
		rows[i] = decode.Rotated{Pick: pick(f, i), Box: *f.Rotated}
	}
	objects := make([]precision.RotatedObject, target.Len())
	for i, label := range target.Labels {
		objects[i] = precision.RotatedObject{Class: label, Box: target.Rotated[i], Difficult: difficult(target, i)}
	}
	return j.oriented.Add(rows, objects)
}

func difficult(target data.Target, i int) bool {
	return len(target.Difficult) > 0 && target.Difficult[i]
}

func (j *judge) addMasks(found []predict.Instance, target data.Target, width, height int) error {
	rows := make([]precision.MaskDetection, len(found))
	for i, f := range found {
		rows[i] = precision.MaskDetection{Pick: pick(f, i), Mask: f.Mask}
	}
	masks, err := data.InstanceMasks(target, width, height, width, height)
	if err != nil {
		return err
	}
	objects := make([]precision.MaskObject, len(masks))
	for i, m := range masks {
		objects[i] = maskObject(target.Labels[i], m)
	}
	return j.masks.AddMasks(rows, objects)
}

func maskObject(label int, m *mask.Bitmap) precision.MaskObject {
	return precision.MaskObject{Object: precision.Object{Class: label, Area: float64(m.Area())}, Mask: m}
}

// addKeypoints takes the tight box of the labelled points for the annotated area
// and box, which labels in text do not have (section 9.2).
func (j *judge) addKeypoints(found []predict.Instance, target data.Target) error {
	rows := make([]precision.KeypointDetection, len(found))
	for i, f := range found {
		rows[i] = precision.KeypointDetection{Pick: pick(f, i), Points: f.Keypoints}
	}
	objects := make([]precision.KeypointObject, target.Len())
	for i, label := range target.Labels {
		object := precision.KeypointObject{Points: target.Keypoints[i], Visibility: target.Visibility[i]}
		object.Box = geometry.Envelope(object.Labelled())
		object.Object = precision.Object{Class: label, Area: max(object.Box.Area(), 1)}
		objects[i] = object
	}
	return j.keypoints.AddKeypoints(rows, objects, j.sigmas)
}

func (j *judge) addConfusion(found []predict.Instance, target data.Target) error {
	rows := make([]precision.Detection, len(found))
	for i, f := range found {
		rows[i] = precision.Detection{Class: f.Class, Score: f.Score}
	}
	objects := make([]precision.Object, target.Len())
	for i, label := range target.Labels {
		objects[i] = precision.Object{Class: label, Ignore: difficult(target, i)}
	}
	return j.confusion.Add(rows, objects, func(d, o int) float64 {
		if j.oriented != nil {
			return geometry.RotatedIoU(*found[d].Rotated, target.Rotated[o])
		}
		return overlap.IoU(found[d].Box, target.Boxes[o])
	})
}

// figures are the statistics of the task in the order of their protocol.
func (j *judge) figures() []precision.Figure {
	if j.oriented != nil {
		return j.oriented.Figures()
	}
	figures := j.boxes.BoxFigures("")
	if j.masks != nil {
		figures = append(figures, j.masks.BoxFigures("segm_")...)
	}
	if j.keypoints != nil {
		figures = append(figures, j.keypoints.KeypointFigures()...)
	}
	return figures
}

// classed is what both protocols say of a class.
type classed interface {
	ClassPrecision(class int) (average, at50 float64, objects int, err error)
	Curve(class, index int) ([]precision.CurvePoint, error)
}

func (j *judge) classed() classed {
	if j.oriented != nil {
		return j.oriented
	}
	return j.boxes
}
