package objective

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Branch holds the raw outputs of one head branch, or their cotangents, flat
// and row-major.
type Branch[T device.Float] struct {
	yolo26.Dense[T]
	// Keypoint is (B,A,4K): offsets x, y in stride units and raw spreads x, y of
	// each point.
	Keypoint []T
}

// Outputs holds the raw outputs of the network, or the derivatives of the total
// by them. Among derivatives a nil slice is an absent one: the output took no
// part in the total, which the optimizer keeps apart from a derivative of 0.
type Outputs[T device.Float] struct {
	OneToMany, OneToOne Branch[T]
}

// Size is the size of a batch: images, input pixels and classes.
type Size = yolo26.Size

// Target is the ground truth of one image. The slices have one element per
// object, none for a background image.
type Target struct {
	// Labels are class indices in 0..C-1.
	Labels []int
	// Boxes are in pixels.
	Boxes []yolo26.Box
	// Keypoints holds K points per object, in pixels.
	Keypoints [][]geometry.Point
	// Visibility goes with Keypoints: a point with 0 is not labelled, and its
	// coordinates do not matter.
	Visibility [][]uint8
}

// step is what both branches of one step share.
type step struct {
	*yolo26.Step
	objective  *Objective
	keypoints  [][]geometry.Point // by padded object
	visibility [][]uint8
}

func newStep[T device.Float](o *Objective, outputs Outputs[T], size Size, targets []Target, alpha float64) (*step, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	labels, boxes := make([][]int, len(targets)), make([][]yolo26.Box, len(targets))
	points, visibility := make([][][]geometry.Point, len(targets)), make([][][]uint8, len(targets))
	for image, target := range targets {
		labels[image], boxes[image] = target.Labels, target.Boxes
		points[image], visibility[image] = target.Keypoints, target.Visibility
	}
	shared, err := yolo26.NewStep(size, labels, boxes, alpha)
	if err != nil {
		return nil, err
	}
	if err := shared.CheckBranches(outputs.OneToMany.Lengths(), outputs.OneToOne.Lengths()); err != nil {
		return nil, err
	}
	for _, branch := range []struct {
		name   string
		length int
	}{{"one-to-many", len(outputs.OneToMany.Keypoint)}, {"one-to-one", len(outputs.OneToOne.Keypoint)}} {
		if err := shared.CheckOutput(branch.name+" keypoint", branch.length, 4*o.options.Points); err != nil {
			return nil, err
		}
	}
	s := &step{Step: shared, objective: o}
	if s.keypoints, err = yolo26.PadExtra(shared.Truth, "keypoint lists", points); err != nil {
		return nil, err
	}
	if s.visibility, err = yolo26.PadExtra(shared.Truth, "visibility lists", visibility); err != nil {
		return nil, err
	}
	return s, s.checkKeypoints()
}

// checkKeypoints compares the points of every object with those of the head.
func (s *step) checkKeypoints() error {
	for row, real := range s.Truth.Mask {
		if !real {
			continue
		}
		image, object := row/s.Truth.Instances, row%s.Truth.Instances
		if k := s.objective.options.Points; len(s.keypoints[row]) != k || len(s.visibility[row]) != k {
			return fmt.Errorf("image %d, object %d: %d keypoints and %d visibilities for a head of %d; give as many as the network has", image, object, len(s.keypoints[row]), len(s.visibility[row]), k)
		}
		for i, p := range s.keypoints[row] {
			if s.visibility[row][i] > 0 && !yolo26.Finite([]float64{p.X, p.Y}) {
				return fmt.Errorf("image %d, object %d: keypoint %d %v is not finite; correct it or mark it as not labelled", image, object, i, p)
			}
		}
	}
	return nil
}
