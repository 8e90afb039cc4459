package objective

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

func TestNewRefusesBadOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		`keypoint loss form "l2" does not exist; give "rle" or "laplace_nll"`: func(o *Options) { o.Form = "l2" },
		"0 keypoints of an object":      func(o *Options) { o.Points = 0 },
		"keypoint gain of -1":           func(o *Options) { o.KeypointGain = -1 },
		"similarity gain of NaN":        func(o *Options) { o.SimilarityGain = math.NaN() },
		"box gain of -1":                func(o *Options) { o.Gains.Box = -1 },
		"one-to-one branch: top-k of 0": func(o *Options) { o.OneToOne.TopK = 0 },
	} {
		options := DefaultOptions(points)
		change(&options)
		_, err := New(options)
		require.ErrorContains(t, err, want)
	}
}

func twiceKeypoint(rows []Point, flow *Flow) (float64, [][4]float64, *Flow) {
	value, slopes, gradient := RLETerm(rows, flow)
	for i := range slopes {
		for k := range slopes[i] {
			slopes[i][k] *= 2
		}
	}
	twice := zeroFlow()
	twice.addScaled(2, gradient)
	return 2 * value, slopes, twice
}

// Field case YO-22, guard G7: a replaced term is used and seen.
func TestReplacedTerms(t *testing.T) {
	outputs, targets, flow := randomOutputs[float64](6, small), randomTargets(6, small, 4), flowOf[float64](6)
	want, err := Loss(newObjective(t), outputs, small, targets, flow, 0.5)
	require.NoError(t, err)
	o := newObjective(t)
	o.Keypoint = twiceKeypoint
	name, replaced := ReplacedBy(o)
	require.True(t, replaced)
	require.Equal(t, "keypoint term", name)
	got, err := Loss(o, outputs, small, targets, flow, 0.5)
	require.NoError(t, err)
	require.InEpsilon(t, 2*want.OneToMany.Terms.Keypoint, got.OneToMany.Terms.Keypoint, 1e-12)
	for i, v := range want.Cotangents.OneToOne.Keypoint {
		require.InDelta(t, 2*v, got.Cotangents.OneToOne.Keypoint[i], 1e-12)
	}
	require.InDelta(t, 2*want.Flow[1][5], got.Flow[1][5], 1e-12)

	for name, change := range map[string]func(*Objective){
		"classification loss": func(o *Objective) {
			o.Class = func(a, b, c []float64) float64 { return yolo26.BinaryCrossEntropy(a, b, c) }
		},
		"box loss":        func(o *Objective) { o.Box = smoothBox },
		"similarity term": func(o *Objective) { o.Similarity = func([]Instance) (float64, [][][2]float64) { return 0, nil } },
	} {
		o := newObjective(t)
		_, replaced := o.Replaced()
		require.False(t, replaced)
		change(o)
		got, replaced := o.Replaced()
		require.True(t, replaced)
		require.Equal(t, name, got)
	}
	laplace := newObjective(t, func(o *Options) { o.Form = Laplace })
	_, replaced = laplace.Replaced()
	require.False(t, replaced, "the form is an option")
}

// A term that takes no part leaves the keypoints absent also with positives.
func TestTermsThatTakeNoPart(t *testing.T) {
	o := newObjective(t)
	o.Keypoint = func([]Point, *Flow) (float64, [][4]float64, *Flow) { return 0, nil, nil }
	o.Similarity = func([]Instance) (float64, [][][2]float64) { return 0, nil }
	result, err := Loss(o, randomOutputs[float64](6, small), small, randomTargets(6, small, 4), flowOf[float64](6), 0.5)
	require.NoError(t, err)
	require.Nil(t, result.Cotangents.OneToMany.Keypoint)
	require.Nil(t, result.Flow)
}

func TestABrokenReplacementIsAnError(t *testing.T) {
	outputs, targets, flow := randomOutputs[float64](6, small), randomTargets(6, small, 4), flowOf[float64](6)
	o := newObjective(t)
	o.Keypoint = func([]Point, *Flow) (float64, [][4]float64, *Flow) { return 0, make([][4]float64, 1), nil }
	_, err := Loss(o, outputs, small, targets, flow, 0.5)
	require.ErrorContains(t, err, "one-to-many branch: keypoint term returned 1 derivatives for")

	o = newObjective(t)
	o.Similarity = func([]Instance) (float64, [][][2]float64) { return 0, [][][2]float64{} }
	_, err = Loss(o, outputs, small, targets, flow, 0.5)
	require.ErrorContains(t, err, "similarity term returned derivatives for 0 of")
	o.Similarity = func(all []Instance) (float64, [][][2]float64) { return 0, make([][][2]float64, len(all)) }
	_, err = Loss(o, outputs, small, targets, flow, 0.5)
	require.ErrorContains(t, err, "similarity term returned 0 derivatives for the")

	o.Similarity = nil
	_, err = Loss(o, outputs, small, targets, flow, 0.5)
	require.ErrorContains(t, err, "similarity term is nil; make the objective with New")
	_, err = Loss(nil, outputs, small, targets, flow, 0.5)
	require.ErrorContains(t, err, "objective is nil")
}

func TestReplacedBySeesAnotherObjective(t *testing.T) {
	type doubling struct{ *Objective }
	var missing *Objective
	for _, other := range []any{doubling{newObjective(t)}, nil, missing, 7} {
		_, replaced := ReplacedBy(other)
		require.True(t, replaced)
	}
}
