package objective

import (
	"fmt"

	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Prototypes is the number of mask prototypes and of coefficients of an anchor
// (YOLACT, arXiv:1904.02689).
const Prototypes = 32

// Sides of a cell of the two dense outputs, in pixels.
const (
	prototypeCell = 4
	semanticCell  = 8
)

// Branch holds the raw outputs of one head branch, or their cotangents, flat
// and row-major.
type Branch[T device.Float] struct {
	yolo26.Dense[T]
	// Coefficient is (B,A,32).
	Coefficient []T
}

// Outputs holds the raw outputs of the network, or the derivatives of the total
// by them. Among derivatives a nil slice is an absent one: the output took no
// part in the total, which the optimizer keeps apart from a derivative of 0.
type Outputs[T device.Float] struct {
	OneToMany, OneToOne Branch[T]
	// Prototypes is (B,32,H/4,W/4).
	Prototypes []T
	// Semantic is (B,C,H/8,W/8): logits. It is nil in evaluation, where the term
	// is 0.
	Semantic []T
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
	// Masks are instance masks on the prototype grid, H/4 x W/4, row-major.
	Masks [][]bool
}

// step is what both branches of one step share.
type step struct {
	*yolo26.Step
	objective     *Objective
	masks         [][]bool // by padded object
	rows, columns int      // of the prototype grid
}

func newStep[T device.Float](o *Objective, outputs Outputs[T], size Size, targets []Target, alpha float64) (*step, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	labels, boxes := make([][]int, len(targets)), make([][]yolo26.Box, len(targets))
	masks := make([][][]bool, len(targets))
	for image, target := range targets {
		labels[image], boxes[image], masks[image] = target.Labels, target.Boxes, target.Masks
	}
	shared, err := yolo26.NewStep(size, labels, boxes, alpha)
	if err != nil {
		return nil, err
	}
	s := &step{Step: shared, objective: o, rows: size.Height / prototypeCell, columns: size.Width / prototypeCell}
	if err := checkOutputs(s, outputs); err != nil {
		return nil, err
	}
	if s.masks, err = yolo26.PadExtra(shared.Truth, "masks", masks); err != nil {
		return nil, err
	}
	for row, real := range shared.Truth.Mask {
		if real && len(s.masks[row]) != s.rows*s.columns {
			return nil, fmt.Errorf("image %d, object %d: a mask of %d cells for a grid of %d x %d; rasterise it at a quarter of the image",
				row/shared.Truth.Instances, row%shared.Truth.Instances, len(s.masks[row]), s.rows, s.columns)
		}
	}
	return s, nil
}

// checkOutputs compares the lengths of the outputs with their shapes.
func checkOutputs[T device.Float](s *step, outputs Outputs[T]) error {
	if err := s.CheckBranches(outputs.OneToMany.Lengths(), outputs.OneToOne.Lengths()); err != nil {
		return err
	}
	if err := s.CheckOutput("one-to-many coefficient", len(outputs.OneToMany.Coefficient), Prototypes); err != nil {
		return err
	}
	if err := s.CheckOutput("one-to-one coefficient", len(outputs.OneToOne.Coefficient), Prototypes); err != nil {
		return err
	}
	if err := s.checkMap("prototype", len(outputs.Prototypes), Prototypes, prototypeCell); err != nil || outputs.Semantic == nil {
		return err
	}
	return s.checkMap("semantic", len(outputs.Semantic), s.Size.Classes, semanticCell)
}

func (s *step) checkMap(name string, length, channels, cell int) error {
	rows, columns := s.Size.Height/cell, s.Size.Width/cell
	if want := s.Size.Batch * channels * rows * columns; length != want {
		return fmt.Errorf("%s output has %d elements, want %d x %d x %d x %d = %d; pass the output of a network built for this size and number of classes",
			name, length, s.Size.Batch, channels, rows, columns, want)
	}
	return nil
}

// finite reports whether every output is a finite number.
func (o Outputs[T]) finite() bool {
	return yolo26.Finite(
		o.OneToMany.Class, o.OneToMany.Box, o.OneToMany.Coefficient,
		o.OneToOne.Class, o.OneToOne.Box, o.OneToOne.Coefficient,
		o.Prototypes, o.Semantic)
}
