package objective

import (
	"math"
	"testing"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
	"github.com/stretchr/testify/require"
)

func TestNewRefusesBadOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"box gain of -1":                           func(o *Options) { o.Gains.Box = -1 },
		"class gain of NaN":                        func(o *Options) { o.Gains.Class = math.NaN() },
		"L1 gain of +Inf":                          func(o *Options) { o.Gains.L1 = math.Inf(1) },
		"one-to-many branch: top-k of 0":           func(o *Options) { o.OneToMany.TopK = 0 },
		"one-to-one branch: overlap epsilon of -1": func(o *Options) { o.OneToOne.OverlapEpsilon = -1 },
	} {
		options := DefaultOptions()
		change(&options)
		_, err := New(options)
		require.ErrorContains(t, err, want)
	}
}

func twiceClass(logits, targets, slopes []float64) float64 {
	value := yolo26.BinaryCrossEntropy(logits, targets, slopes)
	for c := range slopes {
		slopes[c] *= 2
	}
	return 2 * value
}

func twiceBox(predicted, target yolo26.Box) (float64, [4]float64) {
	loss, slopes := yolo26.CompleteIoULoss(predicted, target)
	for i := range slopes {
		slopes[i] *= 2
	}
	return 2 * loss, slopes
}

// Field case YO-22: a replaced loss is used and seen. Guard G7.
func TestReplacedLosses(t *testing.T) {
	outputs, targets := randomOutputs[float64](6, small), randomTargets(6, small, 4)
	want, err := Loss(newObjective(t), outputs, small, targets, 0.5)
	require.NoError(t, err)
	for name, change := range map[string]func(*Objective){
		"classification loss": func(o *Objective) { o.Class = twiceClass },
		"box loss":            func(o *Objective) { o.Box = twiceBox },
	} {
		o := newObjective(t)
		_, replaced := ReplacedBy(o)
		require.False(t, replaced)
		change(o)
		got, replaced := ReplacedBy(o)
		require.True(t, replaced)
		require.Equal(t, name, got)
		result, err := Loss(o, outputs, small, targets, 0.5)
		require.NoError(t, err)
		if name == "box loss" {
			require.InEpsilon(t, 2*want.OneToMany.Terms.Box, result.OneToMany.Terms.Box, 1e-12)
			require.Equal(t, want.OneToMany.Terms.Class, result.OneToMany.Terms.Class)
			continue
		}
		require.InEpsilon(t, 2*want.OneToOne.Terms.Class, result.OneToOne.Terms.Class, 1e-12)
	}
	o := newObjective(t)
	o.Class = twiceClass
	o.Class = yolo26.BinaryCrossEntropy
	_, replaced := o.Replaced()
	require.False(t, replaced, "put back")
}

func TestReplacedBySeesAnotherObjective(t *testing.T) {
	type doubling struct{ *Objective }
	var missing *Objective
	for _, other := range []any{doubling{newObjective(t)}, nil, missing, 7} {
		name, replaced := ReplacedBy(other)
		require.True(t, replaced)
		require.Equal(t, "objective", name)
	}
}

func TestIncompleteObjectives(t *testing.T) {
	outputs := randomOutputs[float32](1, small)
	_, err := Loss(nil, outputs, small, []Target{{}, {}}, 0.5)
	require.ErrorContains(t, err, "objective is nil")
	o := newObjective(t)
	o.Box = nil
	_, err = Loss(o, outputs, small, []Target{{}, {}}, 0.5)
	require.ErrorContains(t, err, "box loss is nil; make the objective with New")
}
