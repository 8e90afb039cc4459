package objective

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Box is an axis-aligned box by its corners, in pixels.
type Box = geometry.Box

// RotatedBox is a rotated box: centre and extents in pixels, angle in radians.
type RotatedBox = geometry.RotatedBox

// GroundTruth is the checked ground truth of a batch, padded on the instance
// axis to the largest number of objects N of any image; N is 0 when no image has
// one (YOLO26 specification, objective section 0.1). Object n of image b is row
// b*N+n of every field.
type GroundTruth struct {
	Images, Instances int
	// Labels, Boxes and Mask have B*N rows. Mask is false on padding, where the
	// label and the box are zero.
	Labels []int
	Boxes  []Box
	Mask   []bool
	// Rotated is nil unless the task is oriented; SetRotated fills it with
	// canonical boxes.
	Rotated []RotatedBox
}

// Pad checks and pads ragged ground truth: labels and boxes have one entry per
// image. The error names the image and the object at fault: counts that differ,
// a label outside 0..classes-1, a coordinate that is not finite.
func Pad(labels [][]int, boxes [][]Box, classes int) (*GroundTruth, error) {
	truth := &GroundTruth{Images: len(labels)}
	for _, image := range labels {
		truth.Instances = max(truth.Instances, len(image))
	}
	rows := truth.Images * truth.Instances
	truth.Labels, truth.Mask = make([]int, rows), make([]bool, rows)
	for b, image := range labels {
		for n, label := range image {
			if label < 0 || label >= classes {
				return nil, fmt.Errorf("image %d, object %d: class %d is outside 0..%d; correct the label or raise the number of classes", b, n, label, classes-1)
			}
			truth.Labels[b*truth.Instances+n] = label
			truth.Mask[b*truth.Instances+n] = true
		}
	}
	var err error
	if truth.Boxes, err = PadExtra(truth, "boxes", boxes); err != nil {
		return nil, err
	}
	for row, box := range truth.Boxes {
		if !Finite([]float64{box.X1, box.Y1, box.X2, box.Y2}) {
			return nil, truth.notFinite(row, "box", box)
		}
	}
	return truth, nil
}

// PadExtra pads another modality of the objects (rotated boxes, keypoints,
// visibility) on the instance axis of truth, with the zero value of E. perImage
// has one entry per image; name is the modality in the error of an image whose
// count differs from its number of labels.
func PadExtra[E any](truth *GroundTruth, name string, perImage [][]E) ([]E, error) {
	if len(perImage) != truth.Images {
		return nil, fmt.Errorf("%s are given for %d images and labels for %d; give one entry per image, empty where it has no object", name, len(perImage), truth.Images)
	}
	padded := make([]E, truth.Images*truth.Instances)
	for b, image := range perImage {
		if objects := truth.objects(b); len(image) != objects {
			return nil, fmt.Errorf("image %d has %d %s for %d labels; give one for every object", b, len(image), name, objects)
		}
		copy(padded[b*truth.Instances:], image)
	}
	return padded, nil
}

// SetRotated adds the rotated boxes of an oriented task, canonicalised, so that
// two forms of one rectangle give the same objective. perImage has one entry
// per image with one box per object.
func (g *GroundTruth) SetRotated(perImage [][]RotatedBox) error {
	rotated, err := PadExtra(g, "rotated boxes", perImage)
	if err != nil {
		return err
	}
	for row, box := range rotated {
		if !Finite([]float64{box.CenterX, box.CenterY, box.Width, box.Height, box.Angle}) {
			return g.notFinite(row, "rotated box", box)
		}
		rotated[row] = box.Canonical()
	}
	g.Rotated = rotated
	return nil
}

// objects is the number of real objects of an image.
func (g *GroundTruth) objects(image int) int {
	count := 0
	for _, real := range g.Mask[image*g.Instances : (image+1)*g.Instances] {
		if real {
			count++
		}
	}
	return count
}

func (g *GroundTruth) notFinite(row int, name string, value any) error {
	return fmt.Errorf("image %d, object %d: %s %v is not finite; correct or remove the object", row/g.Instances, row%g.Instances, name, value)
}
