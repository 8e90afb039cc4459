package replay

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Field case LC-10, invariant I9: names, order and values of a snapshot do not
// depend on recording, and a snapshot restores across the two ways.
func TestSnapshotDoesNotDependOnRecording(t *testing.T) {
	files := map[bool]string{}
	for _, asked := range []bool{false, true} {
		r := newRig(t, Settings{}, StageOptions{Capture: asked})
		for range 3 {
			r.step(1)
		}
		state, err := r.fit.Snapshot()
		require.NoError(t, err)
		data, err := json.Marshal(state)
		require.NoError(t, err)
		files[asked] = string(data)
		r.close()

		other := newRig(t, Settings{}, StageOptions{Capture: !asked})
		other.step(1)
		require.NoError(t, other.fit.Restore(state))
		other.step(1)
		require.EqualValues(t, 4, other.steps())
		other.close()
	}
	require.Equal(t, files[false], files[true])
	require.Equal(t, `[{"name":"pair.a","parameter":true,"shape":[1],"float32":[1]},{"name":"pair.b","parameter":true,"shape":[1],"float32":[1]},{"name":"pair.unused","parameter":true,"shape":[8],"float32":[1,1,1,1,1,1,1,1]},{"name":"pair.steps","parameter":false,"shape":[1],"int64":[3]}]`, files[true])
}

// Field case LC-11: a copy made after recording runs natively on its own, while
// the original goes on replaying.
func TestCopyHasNoRecording(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	r.step(1)
	r.step(1)
	state, err := r.fit.Snapshot()
	require.NoError(t, err)
	clone := newRigOn(t, r.dev, Settings{}, StageOptions{})
	require.NoError(t, clone.fit.Restore(state))
	clone.step(2)
	r.step(3)
	require.EqualValues(t, 3, clone.steps())
	require.Zero(t, clone.report().Recorded)
	require.Equal(t, 3, r.report().Replayed)
	require.NoError(t, clone.fit.Close())
	r.step(4)
	require.EqualValues(t, 4, r.steps())
	r.close()
}

func TestRestoreVerifiesBeforeWriting(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	good, err := r.fit.Snapshot()
	require.NoError(t, err)
	for _, c := range []struct {
		name   string
		change func(state []Entry) []Entry
		want   string
	}{
		{"missing", func(s []Entry) []Entry { return s[:3] }, "state entry pair.steps is missing"},
		{"unknown", func(s []Entry) []Entry { return append(s, Entry{Name: "extra"}) }, "state entry extra does not exist"},
		{"twice", func(s []Entry) []Entry { return append(s, s[0]) }, "state entry pair.a is given twice"},
		{"shape", func(s []Entry) []Entry { s[1].Shape = []int{2}; return s }, "state entry pair.b has shape [2] with 1 values, the model has [1]"},
		{"type", func(s []Entry) []Entry { s[3].Int64, s[3].Float32 = nil, []float32{1}; return s }, "whole numbers and fractions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := append([]Entry(nil), good...)
			bad[0].Float32 = []float32{9}
			require.ErrorContains(t, r.fit.Restore(c.change(bad)), c.want)
			require.Equal(t, []float32{1}, read(t, r.stage.Parameter(0)), "nothing was written")
		})
	}
	good[0].Float32, good[0].Float64 = nil, []float64{0.5}
	require.NoError(t, r.fit.Restore(good))
	require.Equal(t, []float32{0.5}, read(t, r.stage.Parameter(0)))
	r.close()
}

// Parameters start from the seed and their names alone, in ±Bound; generators
// get seeds of their own (field case SE-05).
func TestInitialisation(t *testing.T) {
	start := func(seed uint64, name string) ([]float32, []int64) {
		plan := pairPlan(name)
		plan.Parameters[2].Name = "shared"
		plan.Parameters[2].Init = ir.Initialise{Bound: 0.5}
		plan.Buffers[0] = ir.Buffer{Name: name + ".state", Shape: []int{2}, Elem: ir.Counter, Tensor: plan.Buffers[0].Tensor, Seeded: true}
		fit, err := NewFit(newFake(), Settings{Seed: seed})
		require.NoError(t, err)
		s, err := fit.AddStage(plan, StageOptions{})
		require.NoError(t, err)
		state := make([]int64, 2)
		require.NoError(t, s.Buffer(0).ReadInt64(state))
		require.EqualValues(t, 0, state[1], "no draws taken")
		return read(t, s.Parameter(2)), state
	}
	weights, state := start(7, "one")
	again, stateAgain := start(7, "one")
	require.Equal(t, weights, again)
	require.Equal(t, state, stateAgain)
	for i, w := range weights {
		require.LessOrEqual(t, w, float32(0.5))
		require.GreaterOrEqual(t, w, float32(-0.5))
		require.NotContains(t, weights[:i], w)
	}
	other, otherState := start(7, "two")
	require.Equal(t, weights, other, "a parameter of one name starts alike in every stage")
	require.NotEqual(t, state, otherState, "each generator has its own numbers")
	seeded, _ := start(8, "one")
	require.NotEqual(t, weights, seeded)
}

func TestNamesAreUnique(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	_, err := r.fit.AddStage(pairPlan("pair"), capture)
	require.ErrorContains(t, err, "stage pair is already part of the fit")
	plan := pairPlan("other")
	plan.Parameters[0].Name = "pair.b"
	_, err = r.fit.AddStage(plan, capture)
	require.ErrorContains(t, err, `state entry "pair.b" belongs to stage pair already`)
	r.close()
}

func TestSettingsAreChecked(t *testing.T) {
	_, err := NewFit(nil, Settings{})
	require.ErrorContains(t, err, "a fit needs a device")
	for _, c := range []struct {
		settings Settings
		want     string
	}{
		{Settings{Precision: device.Precision("int8")}, `precision "int8" is unknown`},
		{Settings{Accumulate: -1}, "accumulate is -1"},
		{Settings{Devices: -1}, "devices is -1"},
		{Settings{Batch: -1}, "batch is -1"},
	} {
		_, err := NewFit(newFake(), c.settings)
		require.ErrorContains(t, err, c.want)
	}
}
