package replay

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/device"
)

var errInjected = errors.New("injected")

// failAt makes the n-th call fail.
func failAt(at int, err error) func(int) error {
	return func(n int) error {
		if n == at {
			return err
		}
		return nil
	}
}

// Contract section 5 number 2: replays are graph launches, and the kernel
// launches of native runs are gone. The step that records replays already.
func TestReplaysAreGraphLaunches(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	for i := range 5 {
		r.step(float32(i))
	}
	got := r.report()
	require.Equal(t, StageReport{Name: "pair", Asked: true, Recorded: 1, Replayed: 5, GraphLaunches: 10}, got)
	require.Zero(t, r.dev.counters.KernelLaunches)
	require.EqualValues(t, 3, r.dev.counters.Recordings, "forward and two presence patterns")
	r.close()
}

// A step whose objective uses no output, or whose loss is not finite, has no
// backward pass: its replay is one launch, and the report says so.
func TestForwardOnlyReplays(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	r.step(1)
	r.forward(2)
	r.backward(nil, nil)
	r.forward(3) // the trainer skips the backward pass
	r.step(4)
	got := r.report()
	require.Equal(t, StageReport{Name: "pair", Asked: true, Recorded: 1, Replayed: 4, ForwardOnly: 2, GraphLaunches: 6}, got)
	r.close()
}

// Field case SE-01, contract I2 and I7: recording executes nothing, so that the
// state after the step in which it happens is that of one native step.
func TestRecordingLeavesNoTrace(t *testing.T) {
	state := map[bool][]Entry{}
	for _, asked := range []bool{false, true} {
		r := newRig(t, Settings{}, StageOptions{Capture: asked})
		r.step(2)
		require.EqualValues(t, 1, r.steps())
		var err error
		state[asked], err = r.fit.Snapshot()
		require.NoError(t, err)
		r.close()
	}
	require.Equal(t, state[false], state[true])
}

// Field case SG-06: memory and recordings stay constant after the first step.
func TestOneRecordingPerFit(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	r.step(1)
	recorded := r.dev.records
	for i := range 3 {
		_, err := r.stage.Forward([]Source{image(1, 1, 4)})
		require.NoError(t, err)
		r.step(float32(i))
	}
	require.Equal(t, recorded, r.dev.records)
	require.EqualValues(t, 100+2*10, r.dev.counters.Bytes)
	got := r.report()
	require.Equal(t, 1, got.Recorded)
	require.Equal(t, 4, got.Replayed)
	require.Equal(t, map[string]int{"G4 other size": 3}, reasons(got))
	r.close()
}

// Field case LC-07, invariant I10: a failed recording costs no step and warns
// once per fit, whichever program failed; strict makes it an error before the
// step has changed anything.
func TestRecordingFails(t *testing.T) {
	for at := 1; at <= 3; at++ {
		dev := newFake()
		dev.failRecord = failAt(at, errInjected)
		r := newRigOn(t, dev, Settings{}, capture)
		for range 4 {
			r.step(1)
		}
		require.Equal(t, map[string]int{"G10 recording failed": 4}, reasons(r.report()))
		require.EqualValues(t, 4, r.steps())
		require.Zero(t, dev.counters.Recordings, "nothing of the attempt is left")
		require.Equal(t, []string{"stage pair: recording failed: injected; the fit goes on natively"}, r.warnings)
		r.close()
		require.Len(t, r.warnings, 1, "closing adds no second warning for the same cause")

		dev = newFake()
		dev.failRecord = failAt(at, errInjected)
		r = newRigOn(t, dev, Settings{Strict: true}, capture)
		_, err := r.stage.Forward([]Source{image(1, 1, 2)})
		require.ErrorIs(t, err, errInjected)
		require.ErrorContains(t, err, "strict")
		require.Zero(t, r.steps())
		require.Empty(t, r.warnings)
		_, err = r.stage.Forward([]Source{image(1, 1, 2)})
		require.ErrorContains(t, err, "recording failed (G10)")
		r.close()
	}
}

// Field case CT-14: a recording without launches would replay to nothing.
func TestEmptyRecordingIsRefused(t *testing.T) {
	dev := newFake()
	dev.noNodes = true
	r := newRigOn(t, dev, Settings{}, capture)
	r.step(1)
	require.Zero(t, r.report().Replayed)
	require.EqualValues(t, 1, r.steps())
	require.Zero(t, dev.counters.Recordings)
	require.Len(t, r.warnings, 1)
	require.Contains(t, r.warnings[0], "empty recording")
	r.close()
}

// Field case LC-12, invariant I10: a replay that fails releases the recordings,
// and the step runs natively once, whether its forward or its backward failed.
func TestReplayFails(t *testing.T) {
	for _, c := range []struct {
		name             string
		at               int // replay that fails: odd ones are forward passes
		replayed, native int
	}{{"first forward", 1, 0, 5}, {"third forward", 5, 2, 3}, {"third backward", 6, 2, 3}} {
		t.Run(c.name, func(t *testing.T) {
			dev := newFake()
			dev.failReplay = failAt(c.at, errInjected)
			r := newRigOn(t, dev, Settings{}, capture)
			for i := range 5 {
				r.step(float32(i + 1))
				if dev.replays >= c.at {
					require.Zero(t, dev.counters.Recordings, "released in the step that failed")
				}
				g, _ := r.gradient(0)
				require.Equal(t, 4*float32(i+1), g)
				r.stage.ClearGradients()
				require.EqualValues(t, i+1, r.steps(), "no step is lost or doubled")
			}
			got := r.report()
			require.Equal(t, c.replayed, got.Replayed)
			require.Equal(t, map[string]int{"G10 replay failed": c.native}, reasons(got))
			require.Len(t, r.warnings, 1)
			start := time.Now()
			r.close()
			require.Less(t, time.Since(start), time.Second)
		})
	}
}

// Guard G10 holds for the fit: when one stage fails, no stage replays any more,
// and a step that another stage has begun with a replay ends natively.
func TestFailureEndsEveryRecording(t *testing.T) {
	dev := newFake()
	r := newRigOn(t, dev, Settings{}, capture)
	second, err := r.fit.AddStage(pairPlan("second"), capture)
	require.NoError(t, err)
	_, err = second.Forward([]Source{image(3, 1, 2)})
	require.NoError(t, err)
	dev.failReplay = failAt(2, errInjected)
	r.forward(1)
	require.Zero(t, dev.counters.Recordings)
	require.NoError(t, second.Backward([]Source{image(1, 1, 2), {}}))
	g, _ := second.Gradient(0)
	require.Equal(t, []float32{12}, read(t, g))
	got := r.fit.Report().Stages[1]
	require.Zero(t, got.Replayed)
	require.Equal(t, map[string]int{"G10 replay failed": 1}, reasons(got))
	r.close()
}

// Invariant I10: after a sticky error nothing is run in place of the replay, and
// every later call returns the error; closing still releases everything.
func TestStickyErrorEndsTheFit(t *testing.T) {
	dev := newFake()
	dev.failReplay = failAt(3, &device.StickyError{Err: errInjected})
	r := newRigOn(t, dev, Settings{}, capture)
	r.step(1)
	_, err := r.stage.Forward([]Source{image(1, 1, 2)})
	require.ErrorIs(t, err, errInjected)
	require.ErrorContains(t, err, "start the fit again")
	require.Zero(t, dev.counters.KernelLaunches, "nothing can be trusted, so nothing is repeated")
	for _, call := range []func() error{
		func() error { _, err := r.stage.Forward([]Source{image(1, 1, 2)}); return err },
		func() error { _, err := r.stage.Evaluate([]Source{image(1, 1, 2)}); return err },
		func() error { return r.stage.Backward(make([]Source, 2)) },
		func() error { _, err := r.fit.Snapshot(); return err },
		func() error { return r.fit.Restore(nil) },
	} {
		require.ErrorIs(t, call(), errInjected)
	}
	r.close()
}

// The strict policy refuses every fallback but evaluation, before the step
// changes anything, and only where replay was asked for.
func TestStrict(t *testing.T) {
	r := newRig(t, Settings{Strict: true}, capture)
	r.step(1)
	_, err := r.stage.Evaluate([]Source{image(1, 1, 4)})
	require.NoError(t, err)
	_, err = r.stage.Forward([]Source{image(1, 1, 4)})
	require.ErrorContains(t, err, "strict: the call cannot be replayed: other size (G4)")
	require.EqualValues(t, 1, r.steps())
	r.step(1)
	r.forward(1)
	r.stage.MarkChanged("extra branch")
	_, before := r.gradient(0)
	err = r.stage.Backward([]Source{image(1, 1, 2), {}})
	require.ErrorContains(t, err, "head changed: extra branch (G6)")
	_, after := r.gradient(0)
	require.Equal(t, before, after)
	r.close()

	r = newRig(t, Settings{Strict: true}, StageOptions{})
	r.step(1)
	r.close()
}

// Invariant I8: recordings, bindings and stages end in this order, once, and the
// next fit on the same device records afresh.
func TestCloseOrderAndSecondFit(t *testing.T) {
	dev := newFake()
	for range 2 {
		dev.closed = nil
		r := newRigOn(t, dev, Settings{}, capture)
		second, err := r.fit.AddStage(pairPlan("second"), capture)
		require.NoError(t, err)
		r.step(1)
		_, err = second.Forward([]Source{image(1, 1, 2)})
		require.NoError(t, err)
		_, err = r.stage.Evaluate([]Source{image(1, 1, 2)})
		require.NoError(t, err)
		require.EqualValues(t, 6, dev.counters.Recordings)
		r.close()
		require.Equal(t, []string{
			"recording", "recording", "recording", "recording", "recording", "recording",
			"binding", "binding", "binding", "stage", "stage",
		}, dev.closed)
		require.NoError(t, r.fit.Close())
		require.Len(t, dev.closed, 11, "a second Close does nothing")
		_, err = r.stage.Forward([]Source{image(1, 1, 2)})
		require.ErrorContains(t, err, "the fit is closed")
		require.Equal(t, 1, r.report().Replayed, "the report outlives the fit")
	}
}

// Invariant I8: a fit that is cancelled between the two passes of a replayed
// step leaves nothing alive either.
func TestCloseInTheMiddleOfAStep(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	out := r.forward(1)
	r.close()
	require.ErrorContains(t, out[0].ReadFloat32(make([]float32, 4)), "ended with")
	require.ErrorContains(t, r.stage.Backward(make([]Source, 2)), "the fit is closed")
}

// Field case LC-12: errors while releasing are reported and stop nothing.
func TestCloseReportsErrors(t *testing.T) {
	dev := newFake()
	r := newRigOn(t, dev, Settings{}, capture)
	r.step(1)
	dev.failClose = errInjected
	err := r.fit.Close()
	require.ErrorIs(t, err, errInjected)
	require.ErrorContains(t, err, "stage pair: release recording")
	require.Equal(t, err, r.fit.Close())
	require.Zero(t, dev.counters.Recordings)
	require.Zero(t, dev.counters.Bytes)
}

// A native pass that fails leaves no gradients and a fit that can be closed:
// contract section 5 number 9.
func TestNativeRunFails(t *testing.T) {
	for at := 3; at <= 4; at++ {
		dev := newFake()
		r := newRigOn(t, dev, Settings{}, StageOptions{})
		r.step(1)
		dev.failRun = failAt(at, errInjected)
		_, err := r.stage.Forward([]Source{image(1, 1, 2)})
		if at == 3 {
			require.ErrorIs(t, err, errInjected)
			require.ErrorContains(t, r.stage.Backward(make([]Source, 2)), "backward without a forward pass")
		} else {
			require.NoError(t, err)
			require.ErrorIs(t, r.stage.Backward([]Source{image(1, 1, 2), {}}), errInjected)
			_, presence := r.gradient(0)
			require.Equal(t, Absent, presence)
		}
		r.close()
	}
}

// A sticky error of a native pass ends the fit like one of a replay.
func TestStickyErrorOfANativePass(t *testing.T) {
	dev := newFake()
	dev.failRun = failAt(1, &device.StickyError{Err: errInjected})
	r := newRigOn(t, dev, Settings{}, StageOptions{})
	for range 2 {
		_, err := r.stage.Forward([]Source{image(1, 1, 2)})
		require.ErrorIs(t, err, errInjected)
	}
	require.Equal(t, 1, dev.runs)
	r.close()
}

func TestLoadFails(t *testing.T) {
	dev := newFake()
	dev.failLoad = errInjected
	fit, err := NewFit(dev, Settings{})
	require.NoError(t, err)
	_, err = fit.AddStage(pairPlan("pair"), capture)
	require.ErrorIs(t, err, errInjected)
	require.NoError(t, fit.Close())
}

// Field case LC-06: what was asked for and never happened is one visible
// warning with the reason.
func TestAskedButNeverReplayed(t *testing.T) {
	r := newRig(t, Settings{}, capture)
	r.stage.SetObjectiveReplaced("myLoss")
	require.Empty(t, r.fit.Report().Warnings, "nothing has run yet")
	for range 3 {
		r.step(1)
	}
	want := []string{"capture_network was asked for but nothing of stage pair was replayed: objective overridden: myLoss"}
	require.Equal(t, want, r.fit.Report().Warnings)
	r.close()
	require.Equal(t, want, r.warnings)
	require.Equal(t, want, r.fit.Report().Warnings)
}
