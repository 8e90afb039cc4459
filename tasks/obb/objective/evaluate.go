package objective

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// evaluate returns the total and its derivatives for given assignments, which
// are constants of the differentiation.
func evaluate[T device.Float](s *step, outputs Outputs[T], many, one *yolo26.Assignment, alpha float64) (Result[T], error) {
	var result Result[T]
	var err error
	result.OneToMany, result.Cotangents.OneToMany, err = evaluateBranch(s, outputs.OneToMany, many, alpha)
	if err != nil {
		return Result[T]{}, fmt.Errorf("one-to-many branch: %w", err)
	}
	result.OneToOne, result.Cotangents.OneToOne, err = evaluateBranch(s, outputs.OneToOne, one, 1-alpha)
	if err != nil {
		return Result[T]{}, fmt.Errorf("one-to-one branch: %w", err)
	}
	gains := s.objective.options.Gains
	result.Total = alpha*result.OneToMany.Terms.total(gains) + (1-alpha)*result.OneToOne.Terms.total(gains)
	if !outputs.OneToMany.finite() || !outputs.OneToOne.finite() {
		// A background anchor has no part in the oriented terms, so they cannot
		// show that its box or angle is broken.
		result.Total = math.NaN()
	}
	return result, nil
}

// total is the sum of the terms of one branch under their gains.
func (t Terms) total(gains Gains) float64 {
	return gains.Class*t.Class + gains.Rotated*t.Rotated + gains.RotatedL1*t.RotatedL1 + gains.Angle*t.Angle
}

// evaluateBranch returns the terms of one branch and the cotangents of its
// outputs under the weight of the branch in the total.
func evaluateBranch[T device.Float](s *step, outputs Branch[T], assignment *yolo26.Assignment, weight float64) (BranchResult, Branch[T], error) {
	cotangents := Branch[T]{
		Class: make([]T, len(outputs.Class)),
		Box:   make([]T, len(outputs.Box)),
	}
	gains := s.objective.options.Gains
	// The axis-aligned terms have gain 0: they are evaluated as diagnostics and
	// keep the box cotangent present whatever the oriented terms do.
	detection := yolo26.Detection(yolo26.Losses{Class: s.objective.Class, Box: yolo26.CompleteIoULoss}, yolo26.Gains{Class: gains.Class}, s.grid, s.size.Classes,
		outputs.dense(), s.truth, assignment, weight, cotangents.dense())
	terms := Terms{Class: detection.Class, Box: detection.Box, L1: detection.L1}

	rows := yolo26.OrientedRows(s.grid, outputs.Box, outputs.Angle, s.truth, assignment)
	gradient, turns, err := s.oriented(rows, weight, &terms)
	if err != nil {
		return BranchResult{}, Branch[T]{}, err
	}
	if turns {
		cotangents.Angle = make([]T, len(outputs.Angle))
	}
	yolo26.AddOrientedCotangents(rows, gradient, cotangents.Box, cotangents.Angle)
	return BranchResult{
		Terms:     terms,
		Positives: assignment.Count,
		Quality:   assignment.Quality,
		Assigned:  assignment.Pairs(),
	}, cotangents, nil
}

// oriented evaluates the oriented terms of one branch into terms. It returns
// the derivative of their weighted sum by the canonical box of every row, and
// whether the angle output has a part in it.
func (s *step) oriented(rows []yolo26.OrientedRow, weight float64, terms *Terms) (gradient [][5]float64, turns bool, err error) {
	gains := s.objective.options.Gains
	gradient = make([][5]float64, len(rows))
	for _, term := range []struct {
		name  string
		loss  yolo26.OrientedTerm
		gain  float64
		value *float64
		// turns tells that the term reads the angle, with whatever derivative.
		turns bool
	}{
		{"rotated overlap term", s.objective.Rotated, gains.Rotated, &terms.Rotated, true},
		{"rotated L1 term", s.objective.RotatedL1, gains.RotatedL1, &terms.RotatedL1, false},
		{"angle term", s.objective.Angle, gains.Angle, &terms.Angle, true},
	} {
		value, slopes := term.loss(rows)
		*term.value = value
		if slopes == nil {
			continue
		}
		if len(slopes) != len(rows) {
			return nil, false, fmt.Errorf("%s returned %d derivatives for %d positives; return one per row, or nil when the term takes no part", term.name, len(slopes), len(rows))
		}
		turns = turns || term.turns
		for i := range slopes {
			for k, slope := range slopes[i] {
				gradient[i][k] += weight * term.gain * slope
			}
			turns = turns || slopes[i][4] != 0
		}
	}
	return gradient, turns, nil
}
