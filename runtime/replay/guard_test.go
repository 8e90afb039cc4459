package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Guards whose facts hold for the whole fit: field cases GR-06 (accumulation),
// CT-15 (distributed), SE-03 (unrecordable) and the fit-long rows of the
// contract's table. Nothing is recorded, every step is native with the reason.
func TestGuardsForTheFit(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings Settings
		options  StageOptions
		change   func(*rig)
		reason   string
	}{
		{"option off", Settings{}, StageOptions{Option: "capture_network"}, nil, "G1 capture_network off"},
		{"distributed", Settings{Devices: 2}, capture, nil, "G1 distributed over 2 devices"},
		{"manual", Settings{Manual: true}, capture, nil, "G1 manual optimisation"},
		{"unrecordable", Settings{}, capture, func(r *rig) { r.stage.plan.Unrecordable = "cumulative average" }, "G1 stage cannot be recorded: cumulative average"},
		{"accumulation", Settings{Accumulate: 4}, capture, nil, "G2 gradient accumulation 4"},
		{"precision", Settings{Precision: device.BF16}, capture, nil, "G3 precision bf16 cannot be replayed on fake"},
		{"head changed", Settings{}, capture, func(r *rig) { r.stage.MarkChanged("extra branch") }, "G6 head changed: extra branch"},
		{"objective", Settings{}, capture, func(r *rig) { r.stage.SetObjectiveReplaced("myLoss") }, "G7 objective overridden: myLoss"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.settings, c.options)
			if c.change != nil {
				c.change(r)
			}
			for range 3 {
				r.step(1)
			}
			got := r.report()
			require.Equal(t, map[string]int{c.reason: 3}, reasons(got))
			require.Zero(t, got.Recorded)
			require.Zero(t, got.Replayed)
			require.Zero(t, r.dev.records)
			require.EqualValues(t, 3, r.steps())
			r.close()
		})
	}
}

// Field cases GR-03 (frozen parameter), SG-09 (changed head), contract section 5
// number 6: steps before the change are replays, steps after it are native and
// whole, the recording ends, and the reason stays even if the change is undone.
func TestGuardsFromThenOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*testing.T, *Stage)
		undo   func(*testing.T, *Stage)
		reason string
	}{
		{
			"frozen",
			func(t *testing.T, s *Stage) { require.NoError(t, s.SetTrainable("pair.a", false)) },
			func(t *testing.T, s *Stage) { require.NoError(t, s.SetTrainable("pair.a", true)) },
			"G5 frozen parameter pair.a",
		},
		{"head", func(_ *testing.T, s *Stage) { s.MarkChanged("extra branch") }, nil, "G6 head changed: extra branch"},
		{"objective", func(_ *testing.T, s *Stage) { s.SetObjectiveReplaced("myLoss") }, nil, "G7 objective overridden: myLoss"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Settings{}, capture)
			r.step(1)
			r.step(2)
			c.change(t, r.stage)
			r.step(3)
			require.Zero(t, r.dev.counters.Recordings, "the recording will never be used again")
			if c.undo != nil {
				c.undo(t, r.stage)
			}
			r.step(4)
			got := r.report()
			require.Equal(t, map[string]int{c.reason: 2}, reasons(got))
			require.Equal(t, 2, got.Replayed)
			require.Equal(t, 1, got.Recorded)
			r.close()
		})
	}
}

// Field case GR-03: the gradient of a frozen parameter is absent, at once.
func TestFrozenParameterHasNoGradient(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	r.step(1)
	require.NoError(t, r.stage.SetTrainable("pair.a", false))
	_, presence := r.gradient(0)
	require.Equal(t, Absent, presence)
	r.step(1)
	_, presence = r.gradient(0)
	require.Equal(t, Absent, presence)
	_, presence = r.gradient(1)
	require.Equal(t, Present, presence)
	require.ErrorContains(t, r.stage.SetTrainable("pair.c", false), `no parameter "pair.c"`)
	r.close()
}

// A parameter frozen before the first step is part of the signature, so that
// the fit is recorded, and its gradient is absent after replays.
func TestFrozenFromTheStartIsRecorded(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	require.NoError(t, r.stage.SetTrainable("pair.b", false))
	r.step(1)
	require.Equal(t, 1, r.report().Replayed)
	_, presence := r.gradient(1)
	require.Equal(t, Absent, presence)
	signature, ok := r.stage.Signature()
	require.True(t, ok)
	require.Equal(t, []ParameterSignature{{"pair.a", true}, {"pair.b", false}, {"pair.unused", true}}, signature.Parameters)
	r.close()
}

// The contract's order: evaluation first, then G1 to G10 by number.
func TestGuardOrder(t *testing.T) {
	var ids []string
	for _, g := range Guards() {
		if len(ids) == 0 || ids[len(ids)-1] != g.ID {
			ids = append(ids, g.ID)
		}
		require.NotEmpty(t, g.Holds)
	}
	require.Equal(t, []string{"G9", "G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G10"}, ids)

	r := newRig(t, Settings{Accumulate: 2, Devices: 2}, capture)
	r.stage.MarkChanged("extra branch")
	r.step(1)
	require.Equal(t, map[string]int{"G1 distributed over 2 devices": 1}, reasons(r.report()))
	r.close()
}

// The guards are checked before the backward replay too: a change between the
// two passes makes the backward pass native and the step counts as native.
func TestGuardsBeforeBackward(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	r.step(1)
	r.forward(1)
	r.stage.SetObjectiveReplaced("myLoss")
	r.backward(number(1), nil)
	got := r.report()
	require.Equal(t, 1, got.Replayed)
	require.Equal(t, map[string]int{"G7 objective overridden: myLoss": 1}, reasons(got))
	require.EqualValues(t, 3, got.GraphLaunches)
	r.close()
}

// Contract section 4: G8 holds while an observer is present. The observer sees
// outputs and tensors inside the stage of a complete native call, and replay
// goes on with the existing recording after it is removed.
func TestObservers(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	r.step(1)

	var kept *Tensor
	seen := map[string][]float32{}
	see := func(name string) func(*Tensor) {
		return func(v *Tensor) {
			seen[name] = append(seen[name], read(t, v)[0])
			kept = v
		}
	}
	inside, err := r.stage.Observe("hidden", see("hidden"))
	require.NoError(t, err)
	outputs, err := r.stage.Observe("", see("outputs"))
	require.NoError(t, err)
	global := r.fit.Observe(func(s *Stage, v *Tensor) { see("all " + s.Plan().Name)(v) })
	_, err = r.stage.Observe("missing", see("missing"))
	require.ErrorContains(t, err, `no tensor "missing"`)

	r.step(5)
	require.Equal(t, map[string][]float32{"hidden": {5}, "outputs": {5, 5}, "all pair": {5, 5}}, seen)
	require.ErrorContains(t, kept.ReadFloat32(make([]float32, 4)), "observer's return")
	require.Equal(t, map[string]int{"G8 observer registered": 1}, reasons(r.report()))
	require.Equal(t, 1, r.report().Replayed)

	inside()
	inside()
	outputs()
	r.step(6)
	require.Equal(t, []float32{5}, seen["hidden"])
	require.Equal(t, []float32{5, 5, 6, 6}, seen["all pair"])
	global()
	r.step(7)
	got := r.report()
	require.Equal(t, 2, got.Replayed)
	require.Equal(t, 1, got.Recorded)
	require.Len(t, seen["all pair"], 4)
	require.EqualValues(t, 4, r.steps())
	r.close()
}

// A device that cannot look inside a stage says so before anything runs; its
// outputs can be observed.
func TestObserversOfABlindDevice(t *testing.T) {
	dev := newFake()
	dev.blind = true
	r := newRigOn(t, dev, Settings{}, capture)
	remove, err := r.stage.Observe("hidden", func(*Tensor) {})
	require.NoError(t, err)
	_, err = r.stage.Forward([]Source{image(1, 1, 2)})
	require.ErrorContains(t, err, "fake cannot show tensors inside a stage; observe the outputs only")
	require.Zero(t, r.steps())
	remove()
	seen := 0
	_, err = r.stage.Observe("", func(*Tensor) { seen++ })
	require.NoError(t, err)
	r.step(1)
	require.Equal(t, 2, seen)
	r.close()
}

// Observers see evaluations too.
func TestObserversSeeEvaluations(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	var seen []float32
	_, err := r.stage.Observe("hidden", func(v *Tensor) { seen = append(seen, read(t, v)...) })
	require.NoError(t, err)
	_, err = r.stage.Evaluate([]Source{image(3, 1, 2)})
	require.NoError(t, err)
	require.Equal(t, values(3, 4), seen)
	r.close()
}
