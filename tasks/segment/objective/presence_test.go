package objective

import (
	"math"
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

// states lists class, box and coefficients of a branch and both dense outputs.
type states struct{ class, box, coefficient, prototypes, semantic state }

func outsideTarget(count int) Target {
	var t Target
	for range count {
		t.Labels, t.Masks = append(t.Labels, 1), append(t.Masks, make([]bool, 16*24))
		t.Boxes = append(t.Boxes, yolo26.Box{X1: 500, Y1: 500, X2: 520, Y2: 520})
	}
	return t
}

// The rows of table 4.1 (objective section 4.1) that this task has, for both
// branches; section 4.3 (i) and (v). Field cases YO-01, YO-03.
func TestPresence(t *testing.T) {
	objects := randomTargets(6, small, 4)
	// A window that holds no cell centre: the sides are below a cell.
	thin := Target{Labels: []int{0}, Boxes: []yolo26.Box{{X1: 31, Y1: 31, X2: 33, Y2: 33}}, Masks: [][]bool{make([]bool, 16*24)}}
	for name, c := range map[string]struct {
		targets []Target
		want    states
	}{
		"no objects":       {[]Target{{}, {}}, states{nonzero, zero, absent, absent, nonzero}},
		"no candidates":    {[]Target{outsideTarget(2), {}}, states{nonzero, zero, absent, absent, nonzero}},
		"positives":        {objects, states{nonzero, nonzero, nonzero, nonzero, nonzero}},
		"one empty image":  {[]Target{{}, objects[1]}, states{nonzero, nonzero, nonzero, nonzero, nonzero}},
		"no cell in a box": {[]Target{thin, {}}, states{nonzero, nonzero, zero, zero, nonzero}},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Loss(newObjective(t), randomOutputs[float64](6, small), small, c.targets, 0.8)
			require.NoError(t, err)
			for _, b := range []Branch[float64]{result.Cotangents.OneToMany, result.Cotangents.OneToOne} {
				require.Equal(t, c.want, states{
					stateOf(b.Class), stateOf(b.Box), stateOf(b.Coefficient), stateOf(result.Cotangents.Prototypes), stateOf(result.Cotangents.Semantic),
				})
			}
		})
	}
}

// Section 4.2: without positives the values are those of the background.
func TestValuesWithoutObjects(t *testing.T) {
	outputs := randomOutputs[float64](6, small)
	result, err := Loss(newObjective(t), outputs, small, []Target{{}, {}}, 0.3)
	require.NoError(t, err)
	require.Equal(t, Terms{DetectionTerms: yolo26.DetectionTerms{Class: result.OneToMany.Terms.Class}}, result.OneToMany.Terms)
	const plane = 8 * 12
	want := 0.0
	for i := 0; i < len(outputs.Semantic); i += plane {
		sum := 0.0
		for _, z := range outputs.Semantic[i : i+plane] {
			want += math.Log1p(math.Exp(z)) / float64(len(outputs.Semantic))
			sum += 1 / (1 + math.Exp(-z))
		}
		want += (1 - 1/(sum+1)) / float64(len(outputs.Semantic)/plane)
	}
	require.InEpsilon(t, want, result.Semantic, 1e-12)
}

// Note 5: a weight or a gain of 0 gives zero in place of nonzero, and what is
// absent stays absent.
func TestZeroWeightsScaleAndDoNotRemove(t *testing.T) {
	silent := newObjective(t, func(o *Options) { o.MaskGain, o.SemanticGain = 0, 0 })
	for _, c := range []struct {
		o                               *Objective
		alpha                           float64
		targets                         []Target
		many, one, prototypes, semantic state
	}{
		{newObjective(t), 0, randomTargets(6, small, 4), zero, nonzero, nonzero, nonzero},
		{newObjective(t), 1, randomTargets(6, small, 4), nonzero, zero, nonzero, nonzero},
		{silent, 0.5, randomTargets(6, small, 4), zero, zero, zero, zero},
		{silent, 0.5, []Target{{}, {}}, absent, absent, absent, zero},
	} {
		result, err := Loss(c.o, randomOutputs[float64](6, small), small, c.targets, c.alpha)
		require.NoError(t, err)
		require.Equal(t, c.many, stateOf(result.Cotangents.OneToMany.Coefficient))
		require.Equal(t, c.one, stateOf(result.Cotangents.OneToOne.Coefficient))
		require.Equal(t, c.prototypes, stateOf(result.Cotangents.Prototypes))
		require.Equal(t, c.semantic, stateOf(result.Cotangents.Semantic))
	}
}

// Note 3: anchors without a positive have no derivative of coefficients, and
// prototypes of an empty image have none.
func TestOnlyPositivesHaveMaskDerivatives(t *testing.T) {
	targets := []Target{{}, randomTargets(3, small, 2)[1]}
	result, err := Loss(newObjective(t), randomOutputs[float64](3, small), small, targets, 0.5)
	require.NoError(t, err)
	positive := map[int]bool{}
	for _, pair := range result.OneToMany.Assigned[1] {
		positive[anchorsOf(small)+pair[0]] = true
	}
	for i, v := range result.Cotangents.OneToMany.Coefficient {
		require.Equal(t, positive[i/Prototypes], v != 0, i)
	}
	half := len(result.Cotangents.Prototypes) / 2
	require.Equal(t, zero, stateOf(result.Cotangents.Prototypes[:half]))
	require.Equal(t, nonzero, stateOf(result.Cotangents.Prototypes[half:]))
}

// Contract, section 5, item 10: the number of instances varies from step to
// step, down to none and up again, with one objective. Field case YO-07: 130
// nested objects keep their masks apart.
func TestChangingMaskDemand(t *testing.T) {
	o := newObjective(t)
	for step, count := range []int{1, 130, 0, 3} {
		targets := []Target{{}, {}}
		for n := range count {
			inset := 28 * float64(n) / 130
			box := yolo26.Box{X1: inset, Y1: inset, X2: 64 - inset, Y2: 64 - inset}
			targets[1].Labels, targets[1].Boxes = append(targets[1].Labels, 0), append(targets[1].Boxes, box)
			mask := make([]bool, 16*24)
			mask[n%len(mask)] = true
			targets[1].Masks = append(targets[1].Masks, mask)
		}
		result, err := Loss(o, randomOutputs[float32](uint64(step), small), small, targets, 0.5)
		require.NoError(t, err)
		require.Equal(t, count == 0, result.Cotangents.Prototypes == nil)
		require.True(t, yolo26.Finite([]float64{result.Total}))
	}
}
