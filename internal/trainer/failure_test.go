package trainer_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Invariant I10, field cases LC-07 and LC-12: whichever recording or replay
// fails, that step and all later ones are native, the fit is the native fit,
// there is one warning, and nothing stays alive. Recordings are those of the
// forward pass and of both presence patterns; replays come in pairs.
func TestFailedRecordingOrReplayKeepsTheFit(t *testing.T) {
	for _, c := range []struct {
		event    string
		at       int
		replayed int
	}{
		{"record", 1, 0}, {"record", 3, 0}, {"replay", 1, 0}, {"replay", 2, 0}, {"replay", 7, 3}, {"replay", 12, 5},
	} {
		t.Run(fmt.Sprint(c.event, c.at), func(t *testing.T) {
			f, got := start[float32]{settings: settings(t, captured()), fail: failAt(c.event, c.at)}.run(t)
			require.Equal(t, reference(t), got)
			what := map[string]string{"record": "recording failed", "replay": "replay failed"}[c.event]
			require.Equal(t, []string{"warning: stage network: " + what + ": injected; the fit goes on natively"}, f.warnings())
			require.Equal(t, c.replayed, f.report().Replayed)
			require.Equal(t, 6-c.replayed, f.reasons()["G10 "+what])
		})
	}
}

// Field case LC-07: under the strict policy a failed recording or replay is an
// error in its step, a partial batch is one too, and a fit without any fallback
// is not.
func TestStrict(t *testing.T) {
	strict := captured(func(s *config.Settings) { s.Trainer.Strict = true })
	for _, c := range []struct {
		name      string
		fail      func(string, int) error
		stopAfter int
		want      string
		steps     int
	}{
		{"recording", failAt("record", 1), 0, "epoch 0, batch 0: strict: stage network: recording failed: injected", 0},
		{"replay", failAt("replay", 3), 0, "epoch 0, batch 1: strict: stage network: replay failed: injected", 1},
		{"partial batch", nil, 0, "epoch 0, batch 3: stage network: strict: the call cannot be replayed: partial batch (G4); remove the cause, or turn strict off", 3},
		{"no fallback", nil, 3, "", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start[float32]{settings: settings(t, strict), fail: c.fail, stopAfter: c.stopAfter}.begin(t)
			err := f.fit.Run(context.Background())
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.want)
			}
			require.Equal(t, c.steps, f.fit.Steps())
			f.close()
		})
	}
}

// Invariant I10: after a sticky error nothing on the device can be trusted, so
// the fit ends with it, the checkpoint of the last epoch stays as it is, and
// nothing of the fit is left alive.
func TestStickyErrorEndsTheFit(t *testing.T) {
	dir := t.TempDir()
	sticky := func(event string, n int) error {
		if event == "replay" && n == 9 { // the first step of the second epoch is numbers 7 and 8
			return &device.StickyError{Err: errInjected}
		}
		return nil
	}
	f := start[float32]{settings: settings(t, captured(in(dir))), fail: sticky}.begin(t)
	var before []byte
	f.after = func(step int) {
		if step == batches+1 {
			before = read(t, dir)
		}
	}
	err := f.fit.Run(context.Background())
	require.ErrorIs(t, err, errInjected)
	require.EqualError(t, err, "epoch 1, batch 1: stage network: replay failed: injected; the device state is lost, start the fit again from its last checkpoint")
	require.Equal(t, before, read(t, dir))
	require.Equal(t, batches+1, f.fit.Steps())
	f.close()
}

// Contract section 5 number 9: an error of a native launch ends the fit and
// leaves nothing behind.
func TestFailedLaunchEndsTheFit(t *testing.T) {
	f := start[float32]{settings: settings(t, nil), fail: failAt("launch", 1000)}.begin(t)
	err := f.fit.Run(context.Background())
	require.ErrorIs(t, err, errInjected)
	require.ErrorContains(t, err, "epoch 0, batch ")
	f.close()
}

// in makes a folder the fit's run folder.
func in(dir string) func(*config.Settings) {
	return func(s *config.Settings) { s.Run.Dir = dir }
}

// read gives the checkpoint of a run folder.
func read(t *testing.T, dir string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, trainer.CheckpointName))
	require.NoError(t, err)
	return text
}

// notFinite is an objective whose loss and cotangents are NaN at some calls. It
// passes for the task's own, so that the fit is replayed.
type notFinite struct {
	trainer.Objective[float32]
	calls *int
	bad   func(call int) bool
}

func (o notFinite) Loss(outputs trainer.Outputs[float32], batch *data.Batch, alpha float64) (trainer.Loss[float32], error) {
	*o.calls++
	loss, err := o.Objective.Loss(outputs, batch, alpha)
	if !o.bad(*o.calls) {
		return loss, err
	}
	loss.Total = math.NaN()
	for _, values := range loss.Cotangents {
		for i := range values {
			values[i] = float32(math.NaN())
		}
	}
	return loss, err
}

func badAt(bad func(call int) bool) func(trainer.Objective[float32]) trainer.Objective[float32] {
	return func(o trainer.Objective[float32]) trainer.Objective[float32] { return notFinite{o, new(int), bad} }
}

// Field case PO-05: a step whose loss is not finite has no backward pass, in
// both ways: no parameter moves, no momentum arises, nothing of it reaches the
// next step, and the fit says so once per such step.
func TestLossThatIsNotFinite(t *testing.T) {
	run := func(change func(*config.Settings)) (*fixture[float32], []map[string][]float32) {
		f := start[float32]{settings: settings(t, change), stopAfter: 3, objective: badAt(func(call int) bool { return call == 2 })}.begin(t)
		var gradients []map[string][]float32
		var first [][]float32
		f.after = func(step int) {
			gradients = append(gradients, f.presence())
			switch step {
			case 1:
				first = f.parameters()
			case 2:
				require.Equal(t, first, f.parameters())
				for name, gradient := range gradients[1] {
					require.Nil(t, gradient, name)
				}
			}
		}
		require.NoError(t, f.fit.Run(context.Background()))
		return f, gradients
	}
	native, one := run(nil)
	replayed, two := run(captured())
	for step := range one {
		for name := range one[step] {
			require.Equal(t, one[step][name], two[step][name], "step %d, %s", step+1, name)
		}
	}
	require.True(t, math.IsNaN(native.fit.Losses()[1]))
	want := native.outcome()
	got := replayed.outcome()
	require.Equal(t, want.Hashes, got.Hashes)
	require.Equal(t, []string{"warning: epoch 0, batch 1: the loss is NaN; the step is skipped"}, replayed.warnings())
	require.Equal(t, 3, replayed.report().Replayed)
	require.Equal(t, 1, replayed.report().ForwardOnly)
	native.close()
	replayed.close()
	require.EqualValues(t, 5, replayed.report().GraphLaunches, "the skipped backward pass is not launched")
}

// parameters copies the values of all parameters in the order of the plan.
func (f *fixture[T]) parameters() [][]T {
	f.Helper()
	all, err := f.fit.Learner().Parameters()
	require.NoError(f, err)
	out := make([][]T, len(all))
	for i, p := range all {
		out[i] = append([]T(nil), p.Value...)
	}
	return out
}

// Ten steps in a row without a finite loss end the fit with advice.
func TestLossThatStaysNotFinite(t *testing.T) {
	long := func(s *config.Settings) { s.Trainer.MaxEpochs = 4 }
	f := start[float32]{settings: settings(t, captured(long)), noVal: true, objective: badAt(func(int) bool { return true })}.begin(t)
	require.EqualError(t, f.fit.Run(context.Background()), "epoch 2, batch 1: the loss was not finite for 10 steps in a row; lower optim.lr or raise optim.warmup_epochs and start from the last good checkpoint")
	f.close()
}

// The precision of the settings is the device's: one that it does not compute in
// is an error, and never another precision.
func TestPrecisionReachesTheDevice(t *testing.T) {
	s := settings(t, nil)
	s.Trainer.Precision = "bf16"
	_, err := start[float32]{settings: s}.open(t)
	require.ErrorContains(t, err, "cannot run stage network in bf16")
}
