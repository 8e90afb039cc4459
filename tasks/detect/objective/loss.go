package objective

import (
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Branch holds the raw outputs of one head branch, or their cotangents, flat
// and row-major: Class (B,A,C) and Box (B,A,4).
type Branch[T device.Float] = yolo26.Dense[T]

// Outputs holds the raw outputs of the network, or the derivatives of the total
// by them.
type Outputs[T device.Float] struct {
	OneToMany, OneToOne Branch[T]
}

// Size is the size of a batch: images, input pixels and classes.
type Size = yolo26.Size

// Target is the ground truth of one image. Both slices have one element per
// object, none for a background image.
type Target struct {
	// Labels are class indices in 0..C-1.
	Labels []int
	// Boxes are in pixels.
	Boxes []yolo26.Box
}

// BranchResult is what one branch did in one step.
type BranchResult struct {
	// Terms are over the normaliser of the branch and before gains.
	Terms yolo26.DetectionTerms
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
	Cotangents          Outputs[T]
}

// Loss evaluates the objective on the raw outputs of the network and derives
// the total by them. alpha, in [0,1], weighs the one-to-many branch and 1-alpha
// the other. The arithmetic is float64; only the cotangents are rounded to T.
// Without objects the box and L1 terms and their derivatives are exactly 0.
//
// Errors name what does not fit: the size, the length of an output, a target
// (image and object), alpha, a function field. Outputs that are not finite are
// no error; the total says so and the caller decides.
func Loss[T device.Float](o *Objective, outputs Outputs[T], size Size, targets []Target, alpha float64) (Result[T], error) {
	if err := o.complete(); err != nil {
		return Result[T]{}, err
	}
	labels, boxes := make([][]int, len(targets)), make([][]yolo26.Box, len(targets))
	for image, target := range targets {
		labels[image], boxes[image] = target.Labels, target.Boxes
	}
	step, err := yolo26.NewStep(size, labels, boxes, alpha)
	if err != nil {
		return Result[T]{}, err
	}
	if err := step.CheckBranches(outputs.OneToMany.Lengths(), outputs.OneToOne.Lengths()); err != nil {
		return Result[T]{}, err
	}
	many := yolo26.Assign(o.options.OneToMany, step.Grid, size.Classes, outputs.OneToMany, step.Truth)
	one := yolo26.Assign(o.options.OneToOne, step.Grid, size.Classes, outputs.OneToOne, step.Truth)
	return evaluate(o, step, outputs, many, one, alpha), nil
}

// evaluate returns the total and its derivatives for given assignments, which
// are constants of the differentiation.
func evaluate[T device.Float](o *Objective, step *yolo26.Step, outputs Outputs[T], many, one *yolo26.Assignment, alpha float64) Result[T] {
	var result Result[T]
	result.OneToMany, result.Cotangents.OneToMany = evaluateBranch(o, step, outputs.OneToMany, many, alpha)
	result.OneToOne, result.Cotangents.OneToOne = evaluateBranch(o, step, outputs.OneToOne, one, 1-alpha)
	gains := o.options.Gains
	result.Total = alpha*result.OneToMany.Terms.Total(gains) + (1-alpha)*result.OneToOne.Terms.Total(gains)
	if !yolo26.Finite(outputs.OneToMany.Class, outputs.OneToMany.Box, outputs.OneToOne.Class, outputs.OneToOne.Box) {
		// The box of a background anchor has no part in any term, so the terms
		// cannot show that it is broken.
		result.Total = math.NaN()
	}
	return result
}

func evaluateBranch[T device.Float](o *Objective, step *yolo26.Step, outputs Branch[T], assignment *yolo26.Assignment, weight float64) (BranchResult, Branch[T]) {
	cotangents := Branch[T]{Class: make([]T, len(outputs.Class)), Box: make([]T, len(outputs.Box))}
	terms := yolo26.Detection(o.Losses, o.options.Gains, step.Grid, step.Size.Classes, outputs, step.Truth, assignment, weight, cotangents)
	return BranchResult{
		Terms:     terms,
		Positives: assignment.Count,
		Quality:   assignment.Quality,
		Assigned:  assignment.Pairs(),
	}, cotangents
}
