package objective

import (
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Terms are the terms of one branch, over their normalisers and before gains.
type Terms struct {
	yolo26.DetectionTerms
	Mask float64
}

// BranchResult is what one branch did in one step.
type BranchResult struct {
	Terms Terms
	// Positives is the number of positive anchors and Quality the sum of their
	// weights; the normaliser of the detection terms is max(Quality, 1).
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
	// Semantic is the semantic term before its gain. It belongs to no branch.
	Semantic   float64
	Cotangents Outputs[T]
}

// Loss evaluates the objective on the raw outputs of the network and derives
// the total by them. alpha, in [0,1], weighs the one-to-many branch and 1-alpha
// the other. The arithmetic is float64; only the cotangents are rounded to T.
//
// A batch without positives leaves the cotangents of the coefficients and of the
// prototypes absent; the semantic output always takes part (YOLO26
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
	many := yolo26.Assign(o.options.OneToMany, step.Grid, size.Classes, outputs.OneToMany.Dense, step.Truth)
	one := yolo26.Assign(o.options.OneToOne, step.Grid, size.Classes, outputs.OneToOne.Dense, step.Truth)
	return evaluate(step, outputs, many, one, alpha)
}

// evaluate returns the total and its derivatives for given assignments, which
// are constants of the differentiation.
func evaluate[T device.Float](s *step, outputs Outputs[T], many, one *yolo26.Assignment, alpha float64) (Result[T], error) {
	var result Result[T]
	byPrototype := make([]float64, len(outputs.Prototypes))
	result.OneToMany, result.Cotangents.OneToMany = evaluateBranch(s, outputs.OneToMany, outputs.Prototypes, many, alpha, byPrototype)
	result.OneToOne, result.Cotangents.OneToOne = evaluateBranch(s, outputs.OneToOne, outputs.Prototypes, one, 1-alpha, byPrototype)
	if many.Count > 0 || one.Count > 0 {
		result.Cotangents.Prototypes = make([]T, len(byPrototype))
		for i, slope := range byPrototype {
			result.Cotangents.Prototypes[i] = T(slope)
		}
	}
	var err error
	if result.Semantic, result.Cotangents.Semantic, err = semanticTerm(s, outputs.Semantic); err != nil {
		return Result[T]{}, err
	}
	o := &s.objective.options
	result.Total = alpha*result.OneToMany.Terms.total(o) + (1-alpha)*result.OneToOne.Terms.total(o) + o.SemanticGain*result.Semantic
	if !outputs.finite() {
		// A background anchor has no part in most terms, so they cannot show
		// that its outputs are broken.
		result.Total = math.NaN()
	}
	return result, nil
}

// total is the sum of the terms of one branch under their gains.
func (t Terms) total(o *Options) float64 { return t.Total(o.Gains) + o.MaskGain*t.Mask }

// evaluateBranch returns the terms of one branch and the cotangents of its
// outputs under the weight of the branch in the total; it adds the derivatives
// by the prototypes, which both branches share.
func evaluateBranch[T device.Float](s *step, outputs Branch[T], prototypes []T, assignment *yolo26.Assignment, weight float64, byPrototype []float64) (BranchResult, Branch[T]) {
	o := s.objective
	cotangents := Branch[T]{Dense: yolo26.Dense[T]{Class: make([]T, len(outputs.Class)), Box: make([]T, len(outputs.Box))}}
	terms := Terms{DetectionTerms: yolo26.Detection(o.Losses, o.options.Gains, s.Grid, s.Size.Classes, outputs.Dense, s.Truth, assignment, weight, cotangents.Dense)}
	if assignment.Count > 0 {
		cotangents.Coefficient = make([]T, len(outputs.Coefficient))
		terms.Mask = maskTerm(s, outputs.Coefficient, prototypes, assignment, weight*o.options.MaskGain, cotangents.Coefficient, byPrototype)
	}
	return BranchResult{
		Terms:     terms,
		Positives: assignment.Count,
		Quality:   assignment.Quality,
		Assigned:  assignment.Pairs(),
	}, cotangents
}
