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
// falling score: see Pass.EndToEnd.
func (m *Model) Image(raster *data.Raster, threshold float64) ([]Instance, error) {
	pass, err := m.Forward(raster)
	if err != nil {
		return nil, err
	}
	return pass.EndToEnd(threshold)
}

// Pass is one run of the network over an image. It is good until the next one.
type Pass struct {
	model     *Model
	outputs   trainer.Outputs[float32]
	letterbox data.Letterbox
	// width and height are those of the image.
	width, height int
}

// Forward letterboxes an image and runs the network on it in evaluation mode.
func (m *Model) Forward(raster *data.Raster) (*Pass, error) {
	side := m.Settings.Data.ImgSize
	letterbox := data.NewLetterbox(raster.Width, raster.Height, side, side)
	codes := make([]uint8, 3*side*side)
	letterbox.Image(raster).Draw(codes)
	outputs, err := m.learner.Evaluate(replay.Images(codes, 1, side, side))
	if err != nil {
		return nil, err
	}
	return &Pass{m, outputs, letterbox, raster.Width, raster.Height}, nil
}

// EndToEnd decodes the one-to-one branch: the best 300 anchors without
// suppression, back in pixels of the image (YOLO26 specification, data and
// evaluation sections 8.1, 8.4 and 8.5). Rows below the threshold are left out.
func (p *Pass) EndToEnd(threshold float64) ([]Instance, error) {
	return p.instances("o2o", decoder{
		boxes: func(image decode.Image[float32]) []decode.Detection { return image.TopK(decode.DefaultTopK()) },
		rotated: func(image decode.Image[float32]) ([]decode.Rotated, error) {
			return image.TopKRotated(decode.DefaultTopK())
		},
	}, threshold)
}

// Suppressed decodes the one-to-many branch with suppression by class (sections
// 8.2 and 8.3).
func (p *Pass) Suppressed(threshold float64) ([]Instance, error) {
	return p.instances("o2m", decoder{
		boxes: func(image decode.Image[float32]) []decode.Detection {
			return image.Suppressed(decode.DefaultSuppression())
		},
		rotated: func(image decode.Image[float32]) ([]decode.Rotated, error) {
			return image.SuppressedRotated(decode.DefaultSuppression())
		},
	}, threshold)
}

// decoder picks the rows of an image.
type decoder struct {
	boxes   func(decode.Image[float32]) []decode.Detection
	rotated func(decode.Image[float32]) ([]decode.Rotated, error)
}

func (p *Pass) instances(branch string, rows decoder, threshold float64) ([]Instance, error) {
	settings := p.model.Settings
	side := settings.Data.ImgSize
	images, err := decode.Branch[float32]{
		Class: p.outputs[branch+"_cls"], Box: p.outputs[branch+"_box"], Angle: p.outputs[branch+"_angle"],
		Coefficient: p.outputs[branch+"_coeff"], Keypoint: p.outputs[branch+"_keypoint"],
	}.Images(objective.Size{Batch: 1, Height: side, Width: side, Classes: settings.Model.Classes})
	if err != nil {
		return nil, err
	}
	image := images[0]
	if settings.Task == "obb" {
		found, err := rows.rotated(image)
		return p.oriented(found, threshold), err
	}
	var kept []decode.Detection
	for _, row := range rows.boxes(image) {
		if shown(row.Pick, threshold) {
			kept = append(kept, row)
		}
	}
	found := make([]Instance, len(kept))
	for i, row := range kept {
		found[i] = Instance{Class: row.Class, Score: row.Score, Box: row.Original(p.letterbox).Box}
	}
	switch settings.Task {
	case "pose":
		p.addKeypoints(found, kept, image)
	case "segment":
		return found, p.addMasks(found, kept, image)
	}
	return found, nil
}

// shown tells whether a row is one of a detection.
func shown(pick decode.Pick, threshold float64) bool {
	return pick.Score >= threshold && pick.Score > 0
}

func (p *Pass) oriented(rows []decode.Rotated, threshold float64) []Instance {
	var found []Instance
	for _, row := range rows {
		if shown(row.Pick, threshold) {
			box := row.Original(p.letterbox).Box
			found = append(found, Instance{Class: row.Class, Score: row.Score, Box: box.Envelope(), Rotated: &box})
		}
	}
	return found
}

func (p *Pass) addKeypoints(found []Instance, rows []decode.Detection, image decode.Image[float32]) {
	for i, row := range rows {
		for _, point := range image.Keypoints(row.Anchor) {
			found[i].Keypoints = append(found[i].Keypoints, p.letterbox.InversePoint(point))
		}
	}
}

func (p *Pass) addMasks(found []Instance, rows []decode.Detection, image decode.Image[float32]) error {
	side := p.model.Settings.Data.ImgSize
	prototypes, err := decode.NewPrototypes(p.outputs["prototypes"], 1, side, side)
	if err != nil {
		return fmt.Errorf("prototypes: %w", err)
	}
	for i, row := range rows {
		canvas, err := prototypes[0].CanvasMask(image.Coefficients(row.Anchor), row.Box)
		if err != nil {
			return err
		}
		found[i].Mask = decode.OriginalMask(canvas, p.letterbox, p.width, p.height)
	}
	return nil
}
