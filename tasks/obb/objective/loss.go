package objective

import (
	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Terms are the terms of one branch, over its normaliser and before gains.
type Terms struct {
	// Class is the classification term.
	Class float64
	// Box and L1 are those of the axis-aligned boxes. They are diagnostics: their
	// gain is 0.
	Box, L1 float64
	// Rotated, RotatedL1 and Angle are the oriented terms.
	Rotated, RotatedL1, Angle float64
}

// BranchResult is what one branch did in one step.
type BranchResult struct {
	Terms Terms
	// Positives is the number of positive anchors and Quality the sum of their
	// weights; the normaliser is max(Quality, 1).
	Positives int
	Quality   float64
	// Assigned lists [anchor, object] of every positive per image, ascending by
	// anchor.
	Assigned [][][2]int
}

// Result is the outcome of one step.
type Result[T device.Float] struct {
	// Total is the loss whose derivatives Cotangents holds. It is not finite
	// when any output is not.
	Total               float64
	OneToMany, OneToOne BranchResult
	Cotangents          Cotangents[T]
}

// Loss evaluates the objective on the raw outputs of the network and derives
// the total by them. alpha, in [0,1], weighs the one-to-many branch and 1-alpha
// the other. The arithmetic is float64; only the cotangents are rounded to T.
//
// A batch without objects, or whose objects no anchor falls into, has oriented
// terms of exactly 0 and cotangents of 0 that are present (YOLO26
// specification, objective section 4).
//
// Errors name what does not fit: the size, the length of an output, a target
// (image and object), alpha, a function field. Outputs that are not finite are
// no error; the total says so and the caller decides.
func Loss[T device.Float](o *Objective, outputs Outputs[T], size Size, targets []Target, alpha float64) (Result[T], error) {
	step, err := newStep(o, outputs, size, targets, alpha)
	if err != nil {
		return Result[T]{}, err
	}
	many := yolo26.Assign(o.options.OneToMany, step.grid, size.Classes, outputs.OneToMany.dense(), step.truth)
	one := yolo26.Assign(o.options.OneToOne, step.grid, size.Classes, outputs.OneToOne.dense(), step.truth)
	return evaluate(step, outputs, many, one, alpha)
}

// step is what both branches of one step share.
type step struct {
	objective *Objective
	size      Size
	grid      *yolo26.Grid
	truth     *yolo26.GroundTruth
}

func newStep[T device.Float](o *Objective, outputs Outputs[T], size Size, targets []Target, alpha float64) (*step, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	labels, boxes := make([][]int, len(targets)), make([][]yolo26.Box, len(targets))
	rotated := make([][]yolo26.RotatedBox, len(targets))
	for image, target := range targets {
		labels[image], boxes[image], rotated[image] = target.Labels, target.Boxes, target.Rotated
	}
	shared, err := yolo26.NewStep(size, labels, boxes, alpha)
	if err != nil {
		return nil, err
	}
	if err := shared.Truth.SetRotated(rotated); err != nil {
		return nil, err
	}
	if err := shared.CheckBranches(outputs.OneToMany.dense().Lengths(), outputs.OneToOne.dense().Lengths()); err != nil {
		return nil, err
	}
	if err := shared.CheckOutput("one-to-many angle", len(outputs.OneToMany.Angle), 1); err != nil {
		return nil, err
	}
	if err := shared.CheckOutput("one-to-one angle", len(outputs.OneToOne.Angle), 1); err != nil {
		return nil, err
	}
	return &step{objective: o, size: size, grid: shared.Grid, truth: shared.Truth}, nil
}
