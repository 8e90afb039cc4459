package objective

import (
	"math"
	"testing"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
	"github.com/stretchr/testify/require"
)

func TestNewRefusesBadOptions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"form":       {func(o *Options) { o.Form = "kld" }, `rotated loss form "kld" does not exist; give "hellinger" or "bhattacharyya"`},
		"no form":    {func(o *Options) { o.Form = "" }, `form "" does not exist`},
		"class":      {func(o *Options) { o.Gains.Class = -1 }, "class gain of -1"},
		"rotated":    {func(o *Options) { o.Gains.Rotated = math.NaN() }, "rotated box gain of NaN"},
		"rotated l1": {func(o *Options) { o.Gains.RotatedL1 = math.Inf(1) }, "rotated L1 gain of +Inf"},
		"angle":      {func(o *Options) { o.Gains.Angle = -0.5 }, "angle gain of -0.5"},
		"many":       {func(o *Options) { o.OneToMany.TopK = 0 }, "one-to-many branch: top-k of 0"},
		"one":        {func(o *Options) { o.OneToOne.OverlapEpsilon = -1 }, "one-to-one branch: overlap epsilon of -1"},
	} {
		t.Run(name, func(t *testing.T) {
			options := DefaultOptions()
			c.change(&options)
			_, err := New(options)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestDefaultOptions(t *testing.T) {
	options := DefaultOptions()
	require.Equal(t, Gains{Class: 0.5, Rotated: 7.5, RotatedL1: 6, Angle: 0.25}, options.Gains)
	require.Equal(t, Hellinger, options.Form)
	require.Equal(t, [2]int{10, 7}, [2]int{options.OneToMany.TopK, options.OneToOne.TopK})
	require.Equal(t, [2]bool{false, true}, [2]bool{options.OneToMany.Unique, options.OneToOne.Unique})
}

// twice doubles a term and its derivatives.
func twice(term yolo26.OrientedTerm) yolo26.OrientedTerm {
	return func(rows []yolo26.OrientedRow) (float64, [][5]float64) {
		value, gradient := term(rows)
		for i := range gradient {
			for k := range gradient[i] {
				gradient[i][k] *= 2
			}
		}
		return 2 * value, gradient
	}
}

func twiceClass(logits, targets, slopes []float64) float64 {
	value := yolo26.BinaryCrossEntropy(logits, targets, slopes)
	for c := range slopes {
		slopes[c] *= 2
	}
	return 2 * value
}

// Field case YO-22: an objective that returns twice the loss is used and seen.
func TestAReplacedObjectiveIsUsed(t *testing.T) {
	outputs, targets := randomOutputs[float64](6, small), randomTargets(6, small, 4)
	want, err := Loss(newObjective(t), outputs, small, targets, 0.5)
	require.NoError(t, err)

	o := newObjective(t)
	o.Class, o.Rotated, o.RotatedL1, o.Angle = twiceClass, twice(o.Rotated), twice(o.RotatedL1), twice(o.Angle)
	got, err := Loss(o, outputs, small, targets, 0.5)
	require.NoError(t, err)
	require.InEpsilon(t, 2*want.Total, got.Total, 1e-12)
	doubled := map[string][]float64{}
	got.Cotangents.each(func(name string, values []float64) { doubled[name] = values })
	want.Cotangents.each(func(name string, values []float64) {
		for i := range values {
			require.InDelta(t, 2*values[i], doubled[name][i], 1e-12, name)
		}
	})
	_, replaced := o.Replaced()
	require.True(t, replaced)
}

// Guard G7.
func TestReplacedTellsByIdentity(t *testing.T) {
	for _, form := range []RotatedForm{Hellinger, Bhattacharyya} {
		options := DefaultOptions()
		options.Form = form
		o, err := New(options)
		require.NoError(t, err)
		_, replaced := o.Replaced()
		require.False(t, replaced, "the form is an option")
	}
	for want, change := range map[string]func(*Objective){
		"classification loss": func(o *Objective) { o.Class = twiceClass },
		// A wrapper that changes nothing is another function all the same.
		"rotated overlap term": func(o *Objective) {
			o.Rotated = func(rows []yolo26.OrientedRow) (float64, [][5]float64) { return yolo26.HellingerTerm(rows) }
		},
		"rotated L1 term": func(o *Objective) { o.RotatedL1 = yolo26.AngleTerm },
		"angle term":      func(o *Objective) { o.Angle = twice(o.Angle) },
	} {
		t.Run(want, func(t *testing.T) {
			o := newObjective(t)
			original := *o
			change(o)
			name, replaced := o.Replaced()
			require.True(t, replaced)
			require.Equal(t, want, name)
			name, replaced = ReplacedBy(o)
			require.True(t, replaced)
			require.Equal(t, want, name)

			copied := *o
			_, replaced = copied.Replaced()
			require.True(t, replaced, "a copy carries the functions along")
			_, replaced = original.Replaced()
			require.False(t, replaced, "the original has its own")
			o.Class, o.Rotated, o.RotatedL1, o.Angle = original.Class, original.Rotated, original.RotatedL1, original.Angle
			_, replaced = o.Replaced()
			require.False(t, replaced, "what was put back is the default again")
		})
	}
}

// Guard G7: a whole other objective, also one that embeds ours and so has its
// Replaced method.
func TestReplacedBySeesAnotherObjective(t *testing.T) {
	type doubling struct{ *Objective }
	var missing *Objective
	for _, other := range []any{doubling{newObjective(t)}, &doubling{newObjective(t)}, nil, missing, 7} {
		name, replaced := ReplacedBy(other)
		require.True(t, replaced)
		require.Equal(t, "objective", name)
	}
	_, replaced := ReplacedBy(newObjective(t))
	require.False(t, replaced)
}

// Guard G7 exists because of this: a term that makes a new constant when there
// is no positive leaves the angle gradients absent, which the default never does.
func TestAReplacedTermMayLeaveTheAngleAbsent(t *testing.T) {
	absent := func(term yolo26.OrientedTerm) yolo26.OrientedTerm {
		return func(rows []yolo26.OrientedRow) (float64, [][5]float64) {
			if len(rows) == 0 {
				return 0, nil
			}
			return term(rows)
		}
	}
	outputs := randomOutputs[float64](6, small)
	o := newObjective(t)
	o.Angle = absent(o.Angle)
	result, err := Loss(o, outputs, small, []Target{{}, {}}, 0.5)
	require.NoError(t, err)
	require.NotNil(t, result.Cotangents.OneToMany.Angle, "the overlap term still takes part")

	o.Rotated = absent(o.Rotated)
	result, err = Loss(o, outputs, small, []Target{{}, {}}, 0.5)
	require.NoError(t, err)
	require.Nil(t, result.Cotangents.OneToMany.Angle)
	require.Nil(t, result.Cotangents.OneToOne.Angle)
	require.NotNil(t, result.Cotangents.OneToMany.Box, "kept by the axis-aligned terms")

	result, err = Loss(o, outputs, small, randomTargets(6, small, 4), 0.5)
	require.NoError(t, err)
	require.NotNil(t, result.Cotangents.OneToMany.Angle)
}

// A term that takes no part at all, positives or not.
func TestTermsThatTakeNoPart(t *testing.T) {
	outputs, targets := randomOutputs[float64](6, small), randomTargets(6, small, 4)
	none := func([]yolo26.OrientedRow) (float64, [][5]float64) { return 0, nil }
	o := newObjective(t)
	o.Rotated, o.Angle = none, none
	result, err := Loss(o, outputs, small, targets, 0.5)
	require.NoError(t, err)
	require.Nil(t, result.Cotangents.OneToMany.Angle, "the L1 term does not read the angle")
	require.NotZero(t, result.Cotangents.OneToMany.Box[4*result.OneToMany.Assigned[0][0][0]])

	// A replaced L1 term may read it, and says so by its derivative.
	o.RotatedL1 = yolo26.AngleTerm
	result, err = Loss(o, outputs, small, targets, 0.5)
	require.NoError(t, err)
	require.NotZero(t, result.Cotangents.OneToMany.Angle[result.OneToMany.Assigned[0][0][0]])
}

func TestABrokenReplacementIsAnError(t *testing.T) {
	outputs, targets := randomOutputs[float64](6, small), randomTargets(6, small, 4)
	o := newObjective(t)
	o.Angle = func([]yolo26.OrientedRow) (float64, [][5]float64) { return 0, make([][5]float64, 1) }
	_, err := Loss(o, outputs, small, targets, 0.5)
	require.ErrorContains(t, err, "one-to-many branch: angle term returned 1 derivatives for")

	calls := 0
	o.Angle = func(rows []yolo26.OrientedRow) (float64, [][5]float64) {
		calls++
		return 0, make([][5]float64, len(rows)+calls-1)
	}
	_, err = Loss(o, outputs, small, targets, 0.5)
	require.ErrorContains(t, err, "one-to-one branch: angle term returned")

	o.Angle = nil
	_, err = Loss(o, outputs, small, targets, 0.5)
	require.ErrorContains(t, err, "angle term is nil; make the objective with New")
	_, replaced := o.Replaced()
	require.True(t, replaced)
	_, err = Loss(nil, outputs, small, targets, 0.5)
	require.ErrorContains(t, err, "objective is nil")
	_, err = Loss(&Objective{}, outputs, small, targets, 0.5)
	require.ErrorContains(t, err, "classification loss is nil")
}
