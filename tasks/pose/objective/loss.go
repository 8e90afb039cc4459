package objective

import (
	"errors"
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Terms are the terms of one branch, over their normalisers and before gains.
type Terms struct {
	yolo26.DetectionTerms
	// Keypoint is the likelihood and Similarity one less the keypoint similarity.
	Keypoint, Similarity float64
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
	// Total is the loss whose derivatives Cotangents and Flow hold. It is not
	// finite when any output or parameter of the flow is not.
	Total               float64
	OneToMany, OneToOne BranchResult
	Cotangents          Outputs[T]
	// Flow holds the derivatives by the parameters of the flow, in the order of
	// FlowParameters; nil when the flow took no part.
	Flow [][]T
}

// Loss evaluates the objective on the raw outputs of the network and derives
// the total by them and by the parameters of the flow, given as FlowParameters
// lists them; the Laplace form has none. alpha, in [0,1], weighs the one-to-many
// branch and 1-alpha the other. The arithmetic is float64; only the derivatives
// are rounded to T.
//
// A batch without positives leaves the keypoint cotangents absent; one whose
// positives have no labelled point makes them 0. The flow takes part in every
// step (YOLO26 specification, objective section 4).
//
// Errors name what does not fit: the size, the length of an output, a target
// (image and object), alpha, the flow, a function field. Outputs that are not
// finite are no error; the total says so and the caller decides.
func Loss[T device.Float](o *Objective, outputs Outputs[T], size Size, targets []Target, flow [][]T, alpha float64) (Result[T], error) {
	step, err := newStep(o, outputs, size, targets, alpha)
	if err != nil {
		return Result[T]{}, err
	}
	var density *Flow
	if o.Learnt() {
		if density, err = FlowFrom(flow); err != nil {
			return Result[T]{}, err
		}
		density.open = o.options.OpenConditioner
	} else if flow != nil {
		return Result[T]{}, errors.New("a flow is given to the Laplace form, which has none; leave it out")
	}
	many := yolo26.Assign(o.options.OneToMany, step.Grid, size.Classes, outputs.OneToMany.Dense, step.Truth)
	one := yolo26.Assign(o.options.OneToOne, step.Grid, size.Classes, outputs.OneToOne.Dense, step.Truth)
	return evaluate(step, outputs, many, one, density, alpha)
}

// evaluate returns the total and its derivatives for given assignments, which
// are constants of the differentiation.
func evaluate[T device.Float](s *step, outputs Outputs[T], many, one *yolo26.Assignment, flow *Flow, alpha float64) (Result[T], error) {
	var result Result[T]
	sum := &flowSum{}
	var err error
	result.OneToMany, result.Cotangents.OneToMany, err = evaluateBranch(s, outputs.OneToMany, many, flow, sum, alpha)
	if err != nil {
		return Result[T]{}, fmt.Errorf("one-to-many branch: %w", err)
	}
	result.OneToOne, result.Cotangents.OneToOne, err = evaluateBranch(s, outputs.OneToOne, one, flow, sum, 1-alpha)
	if err != nil {
		return Result[T]{}, fmt.Errorf("one-to-one branch: %w", err)
	}
	o := &s.objective.options
	result.Total = alpha*result.OneToMany.Terms.total(o) + (1-alpha)*result.OneToOne.Terms.total(o)
	if !outputs.finite() || flow != nil && !flow.finite() {
		// A background anchor has no part in most terms, so they cannot show
		// that its outputs are broken.
		result.Total = math.NaN()
	}
	if sum.flow != nil {
		result.Flow = FlowValues[T](sum.flow)
	}
	return result, nil
}

// total is the sum of the terms of one branch under their gains.
func (t Terms) total(o *Options) float64 {
	return t.Total(o.Gains) + o.KeypointGain*t.Keypoint + o.SimilarityGain*t.Similarity
}

// flowSum adds up the derivatives of both branches by the flow; flow stays nil
// while none took part.
type flowSum struct{ flow *Flow }

func (s *flowSum) add(weight float64, gradient *Flow) {
	if gradient == nil {
		return
	}
	if s.flow == nil {
		s.flow = zeroFlow()
	}
	s.flow.addScaled(weight, gradient)
}

// evaluateBranch returns the terms of one branch and the cotangents of its
// outputs under the weight of the branch in the total.
func evaluateBranch[T device.Float](s *step, outputs Branch[T], assignment *yolo26.Assignment, flow *Flow, sum *flowSum, weight float64) (BranchResult, Branch[T], error) {
	o := s.objective
	cotangents := Branch[T]{Dense: yolo26.Dense[T]{Class: make([]T, len(outputs.Class)), Box: make([]T, len(outputs.Box))}}
	terms := Terms{DetectionTerms: yolo26.Detection(o.Losses, o.options.Gains, s.Grid, s.Size.Classes, outputs.Dense, s.Truth, assignment, weight, cotangents.Dense)}

	rows := gather(s, outputs.Keypoint, assignment)
	likelihood, slopes, gradient := o.Keypoint(rows.points, flow)
	similarity, pixelSlopes := o.Similarity(rows.instances)
	terms.Keypoint, terms.Similarity = likelihood, similarity
	if err := rows.check(slopes, pixelSlopes); err != nil {
		return BranchResult{}, Branch[T]{}, err
	}
	sum.add(weight*o.options.KeypointGain, gradient)
	// Without positives there are no predictions to take part; with positives
	// but no labelled point, their selection is empty and its derivative 0.
	if assignment.Count > 0 && (slopes != nil || pixelSlopes != nil) {
		cotangents.Keypoint = make([]T, len(outputs.Keypoint))
		rows.scatter(weight, &o.options, slopes, pixelSlopes, func(at int, slope float64) { cotangents.Keypoint[at] += T(slope) })
	}
	return BranchResult{
		Terms:     terms,
		Positives: assignment.Count,
		Quality:   assignment.Quality,
		Assigned:  assignment.Pairs(),
	}, cotangents, nil
}

// finite reports whether every output is a finite number.
func (o Outputs[T]) finite() bool {
	return yolo26.Finite(
		o.OneToMany.Class, o.OneToMany.Box, o.OneToMany.Keypoint,
		o.OneToOne.Class, o.OneToOne.Box, o.OneToOne.Keypoint)
}
