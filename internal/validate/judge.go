package validate

import (
	"github.com/reprise-ml/reprise/internal/eval/decode"
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

// judge compares the instances of images with their objects.
type judge struct {
	boxes     *precision.COCO
	masks     *precision.COCO
	keypoints *precision.COCO
	oriented  *precision.Oriented
	confusion *precision.Confusion
	sigmas    []float64
}

func newJudge(task string, classes, points int) (*judge, error) {
	if task == "obb" {
		return newOrientedJudge(classes, decode.DefaultTopK().Limit)
	}
	j := &judge{sigmas: precision.Sigmas(points)}
	var err error
	if j.confusion, err = precision.NewConfusion(classes, confusionScore, confusionOverlap); err != nil {
		return nil, err
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

// newOrientedJudge reads the limit best detections of every image.
func newOrientedJudge(classes, limit int) (*judge, error) {
	j := &judge{}
	var err error
	if j.confusion, err = precision.NewConfusion(classes, confusionScore, confusionOverlap); err != nil {
		return nil, err
	}
	j.oriented, err = precision.NewOriented(classes, limit)
	return j, err
}

// add judges one image.
func (j *judge) add(found []predict.Instance, objects []object) error {
	if j.oriented != nil {
		return j.addRotated(rotatedOf(found, objects))
	}
	if err := j.addConfusion(found, objects); err != nil {
		return err
	}
	rows := make([]decode.Detection, len(found))
	for i, f := range found {
		rows[i] = decode.Detection{Pick: pick(f, i), Box: f.Box}
	}
	if err := j.boxes.AddBoxes(rows, each(objects, object.asBox)); err != nil {
		return err
	}
	if j.masks != nil {
		return j.addMasks(found, objects)
	}
	if j.keypoints != nil {
		return j.addKeypoints(found, objects)
	}
	return nil
}

// pick is the class and score of an instance; its rank stands for the anchor.
func pick(f predict.Instance, rank int) decode.Pick {
	return decode.Pick{Anchor: rank, Class: f.Class, Score: f.Score}
}

// each turns objects into what one measure of overlap needs of them.
func each[O any](objects []object, as func(object) O) []O {
	list := make([]O, len(objects))
	for i, o := range objects {
		list[i] = as(o)
	}
	return list
}

func (j *judge) addMasks(found []predict.Instance, objects []object) error {
	rows := make([]precision.MaskDetection, len(found))
	for i, f := range found {
		rows[i] = precision.MaskDetection{Pick: pick(f, i), Mask: f.Mask}
	}
	return j.masks.AddMasks(rows, each(objects, object.asMask))
}

func (j *judge) addKeypoints(found []predict.Instance, objects []object) error {
	rows := make([]precision.KeypointDetection, len(found))
	for i, f := range found {
		rows[i] = precision.KeypointDetection{Pick: pick(f, i), Points: f.Keypoints}
	}
	return j.keypoints.AddKeypoints(rows, each(objects, object.asKeypoints), j.sigmas)
}

func (j *judge) addConfusion(found []predict.Instance, objects []object) error {
	rows := make([]precision.Detection, len(found))
	for i, f := range found {
		rows[i] = precision.Detection{Class: f.Class, Score: f.Score}
	}
	plain := each(objects, func(o object) precision.Object {
		return precision.Object{Class: o.class, Crowd: o.crowd, Ignore: o.difficult}
	})
	return j.confusion.Add(rows, plain, func(d, o int) float64 {
		if area := found[d].Box.Area(); objects[o].crowd && area > 0 {
			return overlap.Common(found[d].Box, objects[o].box) / area
		}
		return overlap.IoU(found[d].Box, objects[o].box)
	})
}

// rotatedOf are the rotated boxes of detections and objects.
func rotatedOf(found []predict.Instance, objects []object) ([]decode.Rotated, []precision.RotatedObject) {
	rows := make([]decode.Rotated, len(found))
	for i, f := range found {
		rows[i] = decode.Rotated{Pick: pick(f, i), Box: *f.Rotated}
	}
	return rows, each(objects, object.asRotated)
}

// addRotated judges the rotated boxes of one image.
func (j *judge) addRotated(rows []decode.Rotated, objects []precision.RotatedObject) error {
	plainRows := make([]precision.Detection, len(rows))
	for i, row := range rows {
		plainRows[i] = precision.Detection{Class: row.Class, Score: row.Score}
	}
	plain := make([]precision.Object, len(objects))
	for i, o := range objects {
		plain[i] = precision.Object{Class: o.Class, Ignore: o.Difficult}
	}
	err := j.confusion.Add(plainRows, plain, func(d, o int) float64 { return geometry.RotatedIoU(rows[d].Box, objects[o].Box) })
	if err != nil {
		return err
	}
	return j.oriented.Add(rows, objects)
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

// shapes are the figures of a class beside those of its boxes.
func (j *judge) shapes(class int) ([]Figure, error) {
	measured, prefix := j.masks, "segm_"
	if j.keypoints != nil {
		measured, prefix = j.keypoints, "oks_"
	}
	if measured == nil {
		return nil, nil
	}
	average, at50, _, err := measured.ClassPrecision(class)
	return []Figure{{prefix + "ap", average}, {prefix + "ap50", at50}}, err
}
