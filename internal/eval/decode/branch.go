package decode

import (
	"errors"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Branch holds the raw outputs of one head branch for a batch.
type Branch[T device.Float] struct {
	// Class is (B,A,C): logits.
	Class []T
	// Box is (B,A,4): left, top, right, bottom in stride units.
	Box []T
	// Angle is (B,A,1), radians, or empty when the task has none.
	Angle []T
	// Coefficient is (B,A,K), or empty when the task has no masks.
	Coefficient []T
	// Keypoint is (B,A,4P), or empty when the task has none: the offsets x and
	// y in stride units and two raw spreads of each point.
	Keypoint []T
}

// keypointChannels is what a keypoint takes in the output.
const keypointChannels = 4

// Image is the part of a branch that belongs to one image.
type Image[T device.Float] struct {
	branch  Branch[T]
	grid    *objective.Grid
	classes int
}

// Images cuts the branch by image. A size without anchors and an output whose
// length does not fit the size are errors.
func (b Branch[T]) Images(size objective.Size) ([]Image[T], error) {
	grid, err := size.Grid()
	if err != nil {
		return nil, err
	}
	rows := size.Batch * grid.Anchors()
	for _, output := range []struct {
		name     string
		values   []T
		channels int
	}{
		{"class", b.Class, size.Classes},
		{"box", b.Box, 4},
		{"angle", b.Angle, min(1, len(b.Angle))},
		{"coefficient", b.Coefficient, len(b.Coefficient) / rows},
		{"keypoint", b.Keypoint, len(b.Keypoint) / rows / keypointChannels * keypointChannels},
	} {
		if err := objective.CheckOutput(output.name, len(output.values), size.Batch, grid.Anchors(), output.channels); err != nil {
			return nil, err
		}
	}
	images := make([]Image[T], size.Batch)
	for i := range images {
		part := func(values []T) []T {
			length := len(values) / size.Batch
			return values[i*length : (i+1)*length]
		}
		images[i] = Image[T]{
			branch: Branch[T]{
				Class:       part(b.Class),
				Box:         part(b.Box),
				Angle:       part(b.Angle),
				Coefficient: part(b.Coefficient),
				Keypoint:    part(b.Keypoint),
			},
			grid:    grid,
			classes: size.Classes,
		}
	}
	return images, nil
}

// box decodes the axis-aligned box of an anchor, in pixels. It may be inverted.
func (m Image[T]) box(anchor int) geometry.Box {
	return objective.DecodeBox(m.grid, anchor, m.branch.Box[4*anchor:4*anchor+4])
}

// rotated decodes the canonical rotated box of an anchor, in pixels.
func (m Image[T]) rotated(anchor int) geometry.RotatedBox {
	return objective.DecodeRotated(m.grid, anchor, m.branch.Box[4*anchor:4*anchor+4], m.branch.Angle[anchor])
}

// Keypoints decodes the P keypoints of an anchor, in pixels of the canvas.
func (m Image[T]) Keypoints(anchor int) []geometry.Point {
	channels := len(m.branch.Keypoint) / m.grid.Anchors()
	raw := m.branch.Keypoint[anchor*channels : (anchor+1)*channels]
	points := make([]geometry.Point, channels/keypointChannels)
	for i := range points {
		points[i] = objective.DecodePoint(m.grid, anchor, raw[keypointChannels*i], raw[keypointChannels*i+1])
	}
	return points
}

// Coefficients returns the K mask coefficients of an anchor. They belong to the
// output and must not be changed.
func (m Image[T]) Coefficients(anchor int) []T {
	count := len(m.branch.Coefficient) / m.grid.Anchors()
	return m.branch.Coefficient[anchor*count : (anchor+1)*count]
}

// requireAngle reports a branch that cannot give rotated boxes.
func (m Image[T]) requireAngle() error {
	if len(m.branch.Angle) == 0 {
		return errors.New("the branch has no angle output; decode axis-aligned boxes or pass the output of an oriented network")
	}
	return nil
}
