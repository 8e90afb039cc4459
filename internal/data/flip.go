package data

import (
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// FlipStep is the pipeline step that mirrors a sample left to right with a
// probability (data and evaluation specification, section 6.8).
type FlipStep struct {
	// Probability is 0.5 in the YOLO26 recipe.
	Probability float64
	// KeypointOrder gives, for each keypoint, the one whose place it takes in
	// the mirrored image, so that a left hand stays a left hand. Empty keeps
	// the order.
	KeypointOrder []int
}

// Name is "flip".
func (s FlipStep) Name() string { return "flip" }

// Validate refuses a probability outside [0,1] and a keypoint order that is not
// its own inverse.
func (s FlipStep) Validate() error {
	if !(s.Probability >= 0 && s.Probability <= 1) {
		return fmt.Errorf("flip: probability %v is outside 0..1; the recipe uses 0.5", s.Probability)
	}
	for i, j := range s.KeypointOrder {
		if j < 0 || j >= len(s.KeypointOrder) || s.KeypointOrder[j] != i {
			return fmt.Errorf("flip: keypoint order maps %d to %d but not back; pair left and right keypoints", i, j)
		}
	}
	return nil
}

// Apply draws one number and mirrors when it is below the probability.
func (s FlipStep) Apply(draw *Draw, sample Sample) (Sample, error) {
	if draw.Random.Float64() >= s.Probability {
		return sample, nil
	}
	target, err := s.flipTarget(sample.Target, float64(sample.Image.Width))
	if err != nil {
		return Sample{}, err
	}
	flipImage(sample.Image)
	sample.Target = target
	return sample, nil
}

func flipImage(m *Image) {
	codes := m.Codes()
	for y := range m.Height {
		row := codes[3*y*m.Width : 3*(y+1)*m.Width]
		for len(row) >= 6 {
			left, right := (*[3]uint8)(row), (*[3]uint8)(row[len(row)-3:])
			*left, *right = *right, *left
			row = row[3 : len(row)-3]
		}
	}
}

// flipTarget maps x to (width-1)-x: coordinates are sample positions here, so
// the axis is the middle of the sample grid. Only boxes are clamped.
func (s FlipStep) flipTarget(t Target, width float64) (Target, error) {
	flipped := t.Clone()
	for i, box := range flipped.Boxes {
		flipped.Boxes[i] = geometry.Box{
			X1: min(max(width-1-box.X2, 0), width), Y1: box.Y1,
			X2: min(max(width-1-box.X1, 0), width), Y2: box.Y2,
		}
	}
	for i, rotated := range flipped.Rotated {
		rotated.CenterX, rotated.Angle = width-1-rotated.CenterX, -rotated.Angle
		flipped.Rotated[i] = rotated.Canonical()
	}
	for _, points := range slices.Concat(flipped.Polygons, flipped.Keypoints) {
		for i := range points {
			points[i].X = width - 1 - points[i].X
		}
	}
	return flipped, s.reorder(&flipped)
}

func (s FlipStep) reorder(t *Target) error {
	if len(s.KeypointOrder) == 0 {
		return nil
	}
	for i := range t.Keypoints {
		if len(t.Keypoints[i]) != len(s.KeypointOrder) {
			return fmt.Errorf("flip: keypoint order of %d for instances of %d keypoints; give one entry per keypoint",
				len(s.KeypointOrder), len(t.Keypoints[i]))
		}
		points, visibility := slices.Clone(t.Keypoints[i]), slices.Clone(t.Visibility[i])
		for j, from := range s.KeypointOrder {
			t.Keypoints[i][j], t.Visibility[i][j] = points[from], visibility[from]
		}
	}
	return nil
}
