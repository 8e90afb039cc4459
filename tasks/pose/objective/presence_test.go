package objective

import (
	"testing"

	"github.com/stretchr/testify/require"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// state is what table 4.1 says of a gradient.
type state string

const (
	absent  state = "absent"
	zero    state = "zero"
	nonzero state = "nonzero"
)

func stateOf(values []float64) state {
	if values == nil {
		return absent
	}
	for _, v := range values {
		if v != 0 {
			return nonzero
		}
	}
	return zero
}

// states lists class, box and keypoints of a branch, and the flow.
type states struct{ class, box, keypoint, flow state }

// The rows of table 4.1 (objective section 4.1) that this task has, for both
// branches; section 4.3 (i), (iii) and (v). Field cases YO-01, YO-19.
func TestPresence(t *testing.T) {
	objects := func() []Target { return randomTargets(6, small, 4) }
	outside := objects()[:1]
	for i := range outside[0].Boxes {
		outside[0].Boxes[i] = yolo26.Box{X1: 500, Y1: 500, X2: 520, Y2: 520}
	}
	for name, c := range map[string]struct {
		targets []Target
		want    states
	}{
		"no objects":      {[]Target{{}, {}}, states{nonzero, zero, absent, zero}},
		"no candidates":   {append(outside, Target{}), states{nonzero, zero, absent, zero}},
		"visible points":  {objects(), states{nonzero, nonzero, nonzero, nonzero}},
		"one empty image": {append(objects()[:1], Target{}), states{nonzero, nonzero, nonzero, nonzero}},
		"no visible":      {invisible(objects()), states{nonzero, nonzero, zero, zero}},
	} {
		for _, form := range []LikelihoodForm{RLE, Laplace} {
			t.Run(name+"/"+string(form), func(t *testing.T) {
				o := newObjective(t, func(o *Options) { o.Form = form })
				flow, want := flowOf[float64](6), c.want
				if form == Laplace {
					flow, want.flow = nil, absent
				}
				result, err := Loss(o, randomOutputs[float64](6, small), small, c.targets, flow, 0.8)
				require.NoError(t, err)
				for _, b := range []Branch[float64]{result.Cotangents.OneToMany, result.Cotangents.OneToOne} {
					require.Equal(t, want, states{stateOf(b.Class), stateOf(b.Box), stateOf(b.Keypoint), flowState(result.Flow)})
				}
			})
		}
	}
}

// flowState is nonzero when any parameter of the flow has a derivative; all are
// present together.
func flowState(flow [][]float64) state {
	if flow == nil {
		return absent
	}
	for _, values := range flow {
		if stateOf(values) == nonzero {
			return nonzero
		}
	}
	return zero
}

// Note 5: a weight or a gain of 0 gives zero in place of nonzero, and what is
// absent stays absent.
func TestZeroWeightsScaleAndDoNotRemove(t *testing.T) {
	silent := newObjective(t, func(o *Options) { o.KeypointGain = 0 })
	for _, c := range []struct {
		o         *Objective
		alpha     float64
		targets   []Target
		many, one state
		flow      state
	}{
		{newObjective(t), 0, randomTargets(6, small, 4), zero, nonzero, nonzero},
		{newObjective(t), 1, randomTargets(6, small, 4), nonzero, zero, nonzero},
		{silent, 0.5, randomTargets(6, small, 4), zero, zero, zero},
		{silent, 0.5, []Target{{}, {}}, absent, absent, zero},
	} {
		result, err := Loss(c.o, randomOutputs[float64](6, small), small, c.targets, flowOf[float64](6), c.alpha)
		require.NoError(t, err)
		require.Equal(t, c.many, stateOf(result.Cotangents.OneToMany.Keypoint))
		require.Equal(t, c.one, stateOf(result.Cotangents.OneToOne.Keypoint))
		require.Equal(t, c.flow, flowState(result.Flow))
	}
}

// Notes 2 and 3, section 4.3 (ii): anchors without a positive have zeros, those
// with one have derivatives at labelled points only.
func TestOnlyLabelledPointsOfPositivesHaveDerivatives(t *testing.T) {
	targets := []Target{{}, randomTargets(3, small, 1)[1]}
	targets[1].Visibility[0] = []uint8{0, 1, 2}
	result, err := Loss(newObjective(t), randomOutputs[float64](3, small), small, targets, flowOf[float64](3), 0.5)
	require.NoError(t, err)
	positive := map[int]bool{}
	for _, pair := range result.OneToMany.Assigned[1] {
		positive[anchorsOf(small)+pair[0]] = true
	}
	require.NotEmpty(t, positive)
	for i, v := range result.Cotangents.OneToMany.Keypoint {
		require.Equal(t, positive[i/(4*points)] && i/4%points > 0, v != 0, i)
	}
}

// The spreads learn from the likelihood alone.
func TestSimilarityDoesNotTouchTheSpreads(t *testing.T) {
	o := newObjective(t, func(o *Options) { o.KeypointGain, o.SimilarityGain = 0, 24 })
	result, err := Loss(o, randomOutputs[float64](3, small), small, randomTargets(3, small, 4), flowOf[float64](3), 0.5)
	require.NoError(t, err)
	moved := false
	for i, v := range result.Cotangents.OneToMany.Keypoint {
		moved = moved || v != 0
		if i%4 > 1 {
			require.Zero(t, v)
		}
	}
	require.True(t, moved)
}
