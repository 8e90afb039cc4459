package objective

import (
	"math"
	"runtime"
	"testing"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
	"github.com/stretchr/testify/require"
)

var small = Size{Batch: 2, Height: 64, Width: 96, Classes: 3}

// The full single-positive example of section 2.6, through the whole objective.
func TestLossOfASinglePositive(t *testing.T) {
	size := Size{Batch: 1, Height: 64, Width: 64, Classes: 1}
	outputs := randomOutputs[float64](1, size)
	const anchor = 4*8 + 5 // (44,36) at stride 8
	for _, branch := range []Branch[float64]{outputs.OneToMany, outputs.OneToOne} {
		copy(branch.Box[4*anchor:], []float64{2.2, 0.7, 1.9, 0.8})
		branch.Angle[anchor] = 0.35
		branch.Class[anchor] = 20
	}
	o := newObjective(t)
	step, err := newStep(o, outputs, size, []Target{target(1, rbox(43, 37, 36, 10, 0.2))}, 0.5)
	require.NoError(t, err)
	one := yolo26.Assign(o.options.OneToOne, step.grid, 1, outputs.OneToOne.dense(), step.truth)
	require.Equal(t, [][][2]int{{{anchor, 0}}}, one.Pairs())
	// The example fixes the quality; assignment would give it the overlap.
	one.Images[0][0].Quality, one.Quality, one.Normaliser = 0.6, 0.6, 1
	result, cotangents, err := evaluateBranch(step, outputs.OneToOne, one, 1)
	require.NoError(t, err)
	require.InEpsilon(t, 0.111099785, result.Terms.Rotated, 1e-8)
	require.InEpsilon(t, 0.45, result.Terms.RotatedL1, 1e-8)
	require.InEpsilon(t, 0.0436665936, result.Terms.Angle, 1e-8)
	oriented := o.options.Gains
	oriented.Class = 0
	require.InEpsilon(t, 3.54416504, result.Terms.total(oriented), 1e-8)
	require.NotZero(t, cotangents.Angle[anchor])
}

// evaluated is the total for fixed assignments, as differentiation sees it.
type evaluated struct {
	step      *step
	outputs   Outputs[float64]
	many, one *yolo26.Assignment
	alpha     float64
}

func newEvaluated(t *testing.T, o *Objective, seed uint64, alpha float64) evaluated {
	t.Helper()
	e := evaluated{outputs: randomOutputs[float64](seed, small), alpha: alpha}
	var err error
	e.step, err = newStep(o, e.outputs, small, randomTargets(seed, small, 5), alpha)
	require.NoError(t, err)
	e.many = yolo26.Assign(o.options.OneToMany, e.step.grid, small.Classes, e.outputs.OneToMany.dense(), e.step.truth)
	e.one = yolo26.Assign(o.options.OneToOne, e.step.grid, small.Classes, e.outputs.OneToOne.dense(), e.step.truth)
	require.True(t, e.many.Count > 10 && e.one.Count > 2)
	return e
}

func (e evaluated) result(t *testing.T) Result[float64] {
	t.Helper()
	result, err := evaluate(e.step, e.outputs, e.many, e.one, e.alpha)
	require.NoError(t, err)
	return result
}

// Every derivative of the complete loss against central differences.
func TestLossDerivatives(t *testing.T) {
	for _, form := range []RotatedForm{Hellinger, Bhattacharyya} {
		t.Run(string(form), func(t *testing.T) {
			options := DefaultOptions()
			options.Form = form
			o, err := New(options)
			require.NoError(t, err)
			e := newEvaluated(t, o, 5, 0.7)
			result := e.result(t)
			checked := 0
			check := func(outputs, cotangent []float64, every int) {
				for i := range outputs {
					// Where the derivative claims to be zero a sample will do.
					if cotangent[i] == 0 && i%17 != 0 || i%every != 0 {
						continue
					}
					at := outputs[i]
					outputs[i] = at + 1e-6
					up := e.result(t).Total
					outputs[i] = at - 1e-6
					down := e.result(t).Total
					outputs[i] = at
					require.InDelta(t, (up-down)/2e-6, cotangent[i], 2e-7, i)
					checked++
				}
			}
			check(e.outputs.OneToMany.Class, result.Cotangents.OneToMany.Class, 13)
			check(e.outputs.OneToMany.Box, result.Cotangents.OneToMany.Box, 1)
			check(e.outputs.OneToMany.Angle, result.Cotangents.OneToMany.Angle, 1)
			check(e.outputs.OneToOne.Class, result.Cotangents.OneToOne.Class, 13)
			check(e.outputs.OneToOne.Box, result.Cotangents.OneToOne.Box, 1)
			check(e.outputs.OneToOne.Angle, result.Cotangents.OneToOne.Angle, 1)
			require.Greater(t, checked, 400)
		})
	}
}

func TestLossReportsBothBranches(t *testing.T) {
	o := newObjective(t)
	e := newEvaluated(t, o, 7, 0.8)
	targets := randomTargets(7, small, 5)
	result, err := Loss(o, e.outputs, small, targets, 0.8)
	require.NoError(t, err)
	require.Equal(t, e.result(t), result, "Loss assigns and evaluates")

	require.Equal(t, e.many.Pairs(), result.OneToMany.Assigned)
	require.Equal(t, e.one.Pairs(), result.OneToOne.Assigned)
	require.Equal(t, e.many.Count, result.OneToMany.Positives)
	require.Equal(t, e.one.Quality, result.OneToOne.Quality)
	blend := 0.0
	for _, branch := range []struct {
		Terms
		weight float64
	}{{result.OneToMany.Terms, 0.8}, {result.OneToOne.Terms, 0.2}} {
		for _, term := range []float64{branch.Class, branch.Box, branch.L1, branch.Rotated, branch.RotatedL1, branch.Angle} {
			require.Positive(t, term)
		}
		blend += branch.weight * (0.5*branch.Class + 7.5*branch.Rotated + 6*branch.RotatedL1 + 0.25*branch.Angle)
	}
	require.InEpsilon(t, blend, result.Total, 1e-12)
}

func TestLossInSinglePrecisionIsTheRoundedOne(t *testing.T) {
	o := newObjective(t)
	single := randomOutputs[float32](3, small)
	widen := func(b Branch[float32]) Branch[float64] {
		w := func(values []float32) []float64 {
			wide := make([]float64, len(values))
			for i, value := range values {
				wide[i] = float64(value)
			}
			return wide
		}
		return Branch[float64]{Class: w(b.Class), Box: w(b.Box), Angle: w(b.Angle)}
	}
	double := Outputs[float64]{OneToMany: widen(single.OneToMany), OneToOne: widen(single.OneToOne)}
	targets := randomTargets(3, small, 5)
	a, err := Loss(o, single, small, targets, 0.6)
	require.NoError(t, err)
	b, err := Loss(o, double, small, targets, 0.6)
	require.NoError(t, err)
	require.Equal(t, b.Total, a.Total)
	require.Equal(t, b.OneToMany, a.OneToMany)
	require.Equal(t, b.OneToOne, a.OneToOne)
	for i, value := range b.Cotangents.OneToMany.Class {
		require.Equal(t, float32(value), a.Cotangents.OneToMany.Class[i])
	}
	for i, value := range b.Cotangents.OneToOne.Angle {
		require.Equal(t, float32(value), a.Cotangents.OneToOne.Angle[i])
	}
}

func TestLossDoesNotDependOnTheNumberOfProcessors(t *testing.T) {
	o := newObjective(t)
	size := Size{Batch: 5, Height: 96, Width: 64, Classes: 4}
	outputs, targets := randomOutputs[float32](8, size), randomTargets(8, size, 6)
	want, err := Loss(o, outputs, size, targets, 0.4)
	require.NoError(t, err)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, processors := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(processors)
		got, err := Loss(o, outputs, size, targets, 0.4)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestLossLeavesItsInputsAlone(t *testing.T) {
	o := newObjective(t)
	outputs, targets := randomOutputs[float32](4, small), randomTargets(4, small, 5)
	targets[0].Rotated[0] = rbox(40, 40, 10, 30, 7)
	_, err := Loss(o, outputs, small, targets, 0.5)
	require.NoError(t, err)
	require.Equal(t, randomOutputs[float32](4, small), outputs)
	require.Equal(t, rbox(40, 40, 10, 30, 7), targets[0].Rotated[0])
}

// Field case YO-14: equal boxes give an equal objective.
func TestEveryFormOfATargetGivesTheSameObjective(t *testing.T) {
	o := newObjective(t)
	size := Size{Batch: 1, Height: 128, Width: 128, Classes: 2}
	outputs := randomOutputs[float64](2, size)
	var totals []float64
	for _, form := range []yolo26.RotatedBox{
		rbox(60, 66, 100, 50, .01), rbox(60, 66, 50, 100, .01+math.Pi/2), rbox(60, 66, 100, 50, .01-math.Pi),
	} {
		one := target(2, form)
		one.Boxes = target(2, rbox(60, 66, 100, 50, .01)).Boxes
		result, err := Loss(o, outputs, size, []Target{one}, 0.5)
		require.NoError(t, err)
		totals = append(totals, result.Total)
	}
	require.InEpsilon(t, totals[0], totals[1], 1e-12)
	require.InEpsilon(t, totals[0], totals[2], 1e-12)

	for i := range outputs.OneToMany.Angle {
		outputs.OneToMany.Angle[i] = float64(40*(i%2)) - 20
	}
	result, err := Loss(o, outputs, size, []Target{target(2, rbox(60, 66, 100, 50, .01))}, 0.5)
	require.NoError(t, err)
	require.True(t, yolo26.Finite([]float64{result.Total}, result.Cotangents.OneToMany.Box, result.Cotangents.OneToMany.Angle))
}
