package predict

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/replay"
	"github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Instance is one detected object in pixels of the image, unclipped.
type Instance struct {
	Class int
	// Score is the probability of the class.
	Score float64
	// Box is the box, or the envelope of Rotated.
	Box geometry.Box
	// Rotated is set by obb, Mask, of the image's size, by segment, and
	// Keypoints by pose.
	Rotated   *geometry.RotatedBox
	Mask      *mask.Bitmap
	Keypoints []geometry.Point
}

// Image detects the objects of an image whose score is at least threshold, by
// falling score: letterbox, network in evaluation mode, the best 300 anchors of
// the one-to-one branch without suppression, and back to the image (YOLO26
// specification, data and evaluation sections 5 and 8).
func (m *Model) Image(raster *data.Raster, threshold float64) ([]Instance, error) {
	side := m.Settings.Data.ImgSize
	letterbox := data.NewLetterbox(raster.Width, raster.Height, side, side)
	codes := make([]uint8, 3*side*side)
	letterbox.Image(raster).Quantise(codes)
	outputs, err := m.learner.Evaluate(replay.Images(codes, 1, side, side))
	if err != nil {
		return nil, err
	}
	found := decoder{size: side, letterbox: letterbox, width: raster.Width, height: raster.Height, threshold: threshold}
	size := objective.Size{Batch: 1, Height: side, Width: side, Classes: m.Settings.Model.Classes}
	images, err := branchOf(outputs).Images(size)
	if err != nil {
		return nil, err
	}
	switch m.Settings.Task {
	case "obb":
		return found.oriented(images[0])
	case "segment":
		return found.masks(images[0], outputs)
	case "pose":
		return found.keypoints(images[0]), nil
	}
	return found.boxes(images[0]), nil
}

// branchOf are the outputs of the one-to-one branch.
func branchOf(outputs trainer.Outputs[float32]) decode.Branch[float32] {
	return decode.Branch[float32]{
		Class: outputs["o2o_cls"], Box: outputs["o2o_box"], Angle: outputs["o2o_angle"],
		Coefficient: outputs["o2o_coeff"], Keypoint: outputs["o2o_keypoint"],
	}
}

// decoder turns the rows of one image into instances.
type decoder struct {
	size, width, height int
	letterbox           data.Letterbox
	threshold           float64
}

// keep tells whether a row is shown.
func (d decoder) keep(pick decode.Pick) bool { return pick.Score >= d.threshold && pick.Score > 0 }

func (d decoder) oriented(image decode.Image[float32]) ([]Instance, error) {
	rows, err := image.TopKRotated(decode.DefaultTopK())
	if err != nil {
		return nil, err
	}
	var found []Instance
	for _, row := range rows {
		if d.keep(row.Pick) {
			box := row.Original(d.letterbox).Box
			found = append(found, Instance{Class: row.Class, Score: row.Score, Box: box.Envelope(), Rotated: &box})
		}
	}
	return found, nil
}

func (d decoder) boxes(image decode.Image[float32]) []Instance {
	var found []Instance
	for _, row := range d.rows(image) {
		found = append(found, d.instance(row))
	}
	return found
}

// rows are the boxes that are shown, on the canvas.
func (d decoder) rows(image decode.Image[float32]) []decode.Detection {
	var kept []decode.Detection
	for _, row := range image.TopK(decode.DefaultTopK()) {
		if d.keep(row.Pick) {
			kept = append(kept, row)
		}
	}
	return kept
}

func (d decoder) instance(row decode.Detection) Instance {
	return Instance{Class: row.Class, Score: row.Score, Box: row.Original(d.letterbox).Box}
}

func (d decoder) keypoints(image decode.Image[float32]) []Instance {
	var found []Instance
	for _, row := range d.rows(image) {
		instance := d.instance(row)
		for _, p := range image.Keypoints(row.Anchor) {
			instance.Keypoints = append(instance.Keypoints, d.letterbox.InversePoint(p))
		}
		found = append(found, instance)
	}
	return found
}

func (d decoder) masks(image decode.Image[float32], outputs trainer.Outputs[float32]) ([]Instance, error) {
	prototypes, err := decode.NewPrototypes(outputs["prototypes"], 1, d.size, d.size)
	if err != nil {
		return nil, fmt.Errorf("prototypes: %w", err)
	}
	var found []Instance
	for _, row := range d.rows(image) {
		canvas, err := prototypes[0].CanvasMask(image.Coefficients(row.Anchor), row.Box)
		if err != nil {
			return nil, err
		}
		instance := d.instance(row)
		instance.Mask = decode.OriginalMask(canvas, d.letterbox, d.width, d.height)
		found = append(found, instance)
	}
	return found, nil
}
