package objective

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// state is what table 4.1 says of a cotangent.
type state int

const (
	zero state = iota
	nonzero
)

func stateOf(values []float64) state {
	for _, v := range values {
		if v != 0 {
			return nonzero
		}
	}
	return zero
}

// The rows of table 4.1 (objective section 4.1) that this task has. Nothing is
// ever absent. Field cases YO-01, YO-02.
func TestPresence(t *testing.T) {
	outputs := randomOutputs[float64](6, small)
	inverted := randomOutputs[float64](6, small)
	for _, branch := range []Branch[float64]{inverted.OneToMany, inverted.OneToOne} {
		for i := range branch.Box {
			branch.Box[i] = -1
		}
	}
	objects := randomTargets(6, small, 4)
	outside := Target{Labels: []int{0}, Boxes: randomTargets(6, small, 1)[0].Boxes[:1]}
	outside.Boxes[0] = xyxy(500, 500, 520, 520)
	for name, c := range map[string]struct {
		outputs Outputs[float64]
		targets []Target
		alpha   float64
		want    map[string]state
	}{
		"no objects":         {outputs, []Target{{}, {}}, 0.8, map[string]state{"one-to-many class": nonzero, "one-to-one class": nonzero}},
		"no candidates":      {outputs, []Target{outside, {}}, 0.8, map[string]state{"one-to-many class": nonzero, "one-to-one class": nonzero}},
		"positives":          {outputs, objects, 0.8, map[string]state{"one-to-many class": nonzero, "one-to-one class": nonzero, "one-to-many box": nonzero, "one-to-one box": nonzero}},
		"one empty image":    {outputs, []Target{objects[0], {}}, 0.8, map[string]state{"one-to-many class": nonzero, "one-to-one class": nonzero, "one-to-many box": nonzero, "one-to-one box": nonzero}},
		"every quality zero": {inverted, objects, 0.8, map[string]state{"one-to-many class": nonzero, "one-to-one class": nonzero}},
		"one-to-one only":    {outputs, objects, 0, map[string]state{"one-to-one class": nonzero, "one-to-one box": nonzero}},
		"one-to-many only":   {outputs, objects, 1, map[string]state{"one-to-many class": nonzero, "one-to-many box": nonzero}},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Loss(newObjective(t), c.outputs, small, c.targets, c.alpha)
			require.NoError(t, err)
			each(result.Cotangents, func(output string, values []float64) {
				require.NotNil(t, values, output)
				require.Equal(t, c.want[output], stateOf(values), output)
			})
		})
	}
}

// Section 4.3 (ii): with positives at stride 8 only, the anchors of the other
// levels have box derivatives of exactly 0.
func TestPositivesAtOneLevel(t *testing.T) {
	options := DefaultOptions()
	options.OneToMany.TopK, options.OneToOne.TopK = 1, 1
	o, err := New(options)
	require.NoError(t, err)
	size := Size{Batch: 1, Height: 64, Width: 64, Classes: 1}
	result, err := Loss(o, randomOutputs[float64](2, size), size, []Target{{Labels: []int{0}, Boxes: randomTargets(1, size, 1)[0].Boxes[:1]}}, 0.5)
	require.NoError(t, err)
	anchor := result.OneToMany.Assigned[0][0][0]
	require.Less(t, anchor, 64, "the drawn object is small")
	for i, v := range result.Cotangents.OneToMany.Box {
		require.Equal(t, i/4 == anchor, v != 0, i)
	}
}
