package objective

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

func TestNewRefusesBadOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"mask gain of -1":               func(o *Options) { o.MaskGain = -1 },
		"semantic gain of NaN":          func(o *Options) { o.SemanticGain = math.NaN() },
		"box gain of -1":                func(o *Options) { o.Gains.Box = -1 },
		"one-to-one branch: top-k of 0": func(o *Options) { o.OneToOne.TopK = 0 },
	} {
		options := DefaultOptions()
		change(&options)
		_, err := New(options)
		require.ErrorContains(t, err, want)
	}
}

func twice(logits, targets, slopes []float64) float64 {
	value := yolo26.BinaryCrossEntropy(logits, targets, slopes)
	for c := range slopes {
		slopes[c] *= 2
	}
	return 2 * value
}

// Field case YO-22, guard G7: a replaced loss is used and seen.
func TestReplacedLosses(t *testing.T) {
	outputs, targets := randomOutputs[float64](6, small), randomTargets(6, small, 4)
	want, err := Loss(newObjective(t), outputs, small, targets, 0.5)
	require.NoError(t, err)
	o := newObjective(t)
	o.Mask = twice
	name, replaced := ReplacedBy(o)
	require.True(t, replaced)
	require.Equal(t, "mask loss", name)
	got, err := Loss(o, outputs, small, targets, 0.5)
	require.NoError(t, err)
	require.InEpsilon(t, 2*want.OneToMany.Terms.Mask, got.OneToMany.Terms.Mask, 1e-12)
	for i, v := range want.Cotangents.Prototypes {
		require.InDelta(t, 2*v, got.Cotangents.Prototypes[i], 1e-12)
	}
	for name, change := range map[string]func(*Objective){
		"classification loss": func(o *Objective) { o.Class = twice },
		"box loss":            func(o *Objective) { o.Box = smoothBox },
		"semantic term":       func(o *Objective) { o.Semantic = func(_, _ []float64, _ int) (float64, []float64) { return 0, nil } },
	} {
		o := newObjective(t)
		_, replaced := o.Replaced()
		require.False(t, replaced)
		change(o)
		got, replaced := o.Replaced()
		require.True(t, replaced)
		require.Equal(t, name, got)
	}
}

// A semantic term that takes no part leaves its output absent, which the default
// one never does (note 9).
func TestAReplacedSemanticTermMayTakeNoPart(t *testing.T) {
	o := newObjective(t)
	o.Semantic = func(_, _ []float64, _ int) (float64, []float64) { return 0, nil }
	result, err := Loss(o, randomOutputs[float64](6, small), small, []Target{{}, {}}, 0.5)
	require.NoError(t, err)
	require.Nil(t, result.Cotangents.Semantic)
	o.Semantic = func(_, _ []float64, _ int) (float64, []float64) { return 0, make([]float64, 3) }
	_, err = Loss(o, randomOutputs[float64](6, small), small, []Target{{}, {}}, 0.5)
	require.ErrorContains(t, err, "semantic term returned 3 derivatives for 576 logits")
	o.Semantic = nil
	_, err = Loss(o, randomOutputs[float64](6, small), small, []Target{{}, {}}, 0.5)
	require.ErrorContains(t, err, "semantic term is nil; make the objective with New")
	_, err = Loss(nil, randomOutputs[float64](6, small), small, []Target{{}, {}}, 0.5)
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
