package replay

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

// full is ten images in batches of four, for two epochs (field case SG-04), with
// batches that have no positives (contract section 5 number 3).
var full = []batch{{4, 16, true}, {4, 16, false}, {2, 16, true}, {4, 16, false}, {4, 16, true}, {2, 16, false}}

func trained(t *testing.T, options host.Options, settings Settings, wish StageOptions, batches []batch) (trace, StageReport, []string) {
	t.Helper()
	r := newHostRig(t, options, settings, wish, buildPlan(t, "network", smallNetwork))
	out := r.train(batches)
	report := r.report(0)
	r.close()
	return out, report, r.warnings
}

// Invariants I1, I4, contract section 5 numbers 1 to 3 and 5: losses, presence,
// weights, statistics and momentum are equal bit for bit with recording on and
// off, and the launches show that replays were replays. The optimizer changes
// its learning rate on the way (field cases LC-09 and PO-01).
func TestReplayEqualsNative(t *testing.T) {
	for _, precision := range []device.Precision{device.FP32, device.Float64} {
		t.Run(string(precision), func(t *testing.T) {
			settings := Settings{Precision: precision, Seed: 7}
			native, off, _ := trained(t, host.Options{}, settings, StageOptions{}, full)
			again, _, _ := trained(t, host.Options{}, settings, StageOptions{}, full)
			require.Equal(t, native, again, "native runs must be equal first")
			replay, on, warnings := trained(t, host.Options{}, settings, capture, full)
			require.Equal(t, native, replay)
			require.Empty(t, warnings)

			require.Equal(t, 1, on.Recorded)
			require.Equal(t, 4, on.Replayed)
			require.Equal(t, 2, on.Partial)
			require.EqualValues(t, 8, on.GraphLaunches)
			require.Zero(t, off.GraphLaunches)
			plan := buildPlan(t, "network", smallNetwork)
			forward := int64(len(device.Forward("training").Ops(plan)))
			present, absent := int64(len(plan.Backward[0].Ops)), int64(len(plan.Backward[1].Ops))
			require.Equal(t, 6*forward+3*(present+absent), off.KernelLaunches)
			require.Equal(t, 2*forward+present+absent, on.KernelLaunches)

			require.Contains(t, native.Presence[1], Absent, "a batch without positives leaves stems absent")
			require.NotContains(t, native.Presence[0], Absent)
		})
	}
}

// Invariant I8: two fits on one device one after another are equal, each has its
// own recording, and the memory is back where it was.
func TestTwoFitsOnOneDevice(t *testing.T) {
	dev := host.Open(host.Options{})
	var traces []trace
	for range 2 {
		r := newHostRigOn(t, dev, Settings{}, capture, buildPlan(t, "network", smallNetwork))
		traces = append(traces, r.train(full[:4]))
		require.Equal(t, 1, r.report(0).Recorded)
		require.NoError(t, r.fit.Close())
		require.Zero(t, dev.Counters().Recordings)
		require.Zero(t, dev.Counters().Bytes)
	}
	require.Equal(t, traces[0], traces[1])
	require.NoError(t, dev.Close())
}

// Field case SG-06: sizes 64, 96, 64, 96 in small: one recording, and the steps
// of the other size are native.
func TestSizesAlternate(t *testing.T) {
	batches := []batch{{4, 16, true}, {4, 24, true}, {4, 16, true}, {4, 24, true}}
	native, _, _ := trained(t, host.Options{}, Settings{}, StageOptions{}, batches)
	replay, report, _ := trained(t, host.Options{}, Settings{}, capture, batches)
	require.Equal(t, native, replay)
	require.Equal(t, 1, report.Recorded)
	require.Equal(t, 2, report.Replayed)
	require.Equal(t, map[string]int{"G4 other size": 2}, reasons(report))
}

// Field cases LC-07 and LC-12, contract section 5 number 9: whichever recording
// or replay fails, the fit is the native fit, nothing stays alive, and there is
// one warning.
func TestFailuresKeepTheFit(t *testing.T) {
	native, _, _ := trained(t, host.Options{}, Settings{}, StageOptions{}, full)
	for _, event := range []string{"record", "replay"} {
		for at := 1; at <= map[string]int{"record": 3, "replay": 8}[event]; at++ {
			t.Run(fmt.Sprint(event, at), func(t *testing.T) {
				fail := func(e string, n int) error {
					if e == event && n == at {
						return errInjected
					}
					return nil
				}
				got, report, warnings := trained(t, host.Options{Fail: fail}, Settings{}, capture, full)
				require.Equal(t, native, got)
				require.Len(t, warnings, 1)
				require.Equal(t, map[string]int{"record": 0, "replay": (at - 1) / 2}[event], report.Replayed)
			})
		}
	}
}

// Contract section 5 number 9: an error of any native launch ends in a fit that
// closes without anything left.
func TestLaunchFailureCleansUp(t *testing.T) {
	for _, at := range []int{1, 3, 12, 20} {
		fail := func(event string, n int) error {
			if event == "launch" && n == at {
				return errInjected
			}
			return nil
		}
		r := newHostRig(t, host.Options{Fail: fail}, Settings{}, StageOptions{}, buildPlan(t, "network", smallNetwork))
		out, err := r.stages[0].Forward([]Source{Float32s(noise(1, 4*3*256), 4, 3, 16, 16)})
		if err == nil {
			err = r.stages[0].Backward([]Source{FromTensor(out[0]), FromTensor(out[1])})
		}
		require.ErrorIs(t, err, errInjected)
		r.close()
	}
}

// Field case LC-10: a resumed fit goes on as the unbroken one, across the two
// ways: half of it native, half replayed.
func TestResumeAcrossWays(t *testing.T) {
	whole, _, _ := trained(t, host.Options{}, Settings{}, capture, full)
	first := newHostRig(t, host.Options{}, Settings{}, StageOptions{}, buildPlan(t, "network", smallNetwork))
	half := first.train(full[:3])
	first.close()

	second := newHostRig(t, host.Options{}, Settings{Seed: 99}, capture, buildPlan(t, "network", smallNetwork))
	require.NoError(t, second.fit.Restore(half.State))
	second.momentum = half.Momentum
	s := second.stages[0]
	_, err := s.Evaluate([]Source{Images(make([]uint8, 2*16*16*3), 2, 16, 16)})
	require.NoError(t, err)
	rest := second.resume(full, 3)
	second.close()
	require.Equal(t, whole.Losses[3:], rest.Losses)
	require.Equal(t, whole.State, rest.State)
	require.Equal(t, whole.Momentum, rest.Momentum)
}

// Field case SG-05: one value per channel is the same error in both ways, and
// nothing stays alive.
func TestOneValuePerChannel(t *testing.T) {
	var texts []string
	for _, wish := range []StageOptions{{}, capture} {
		r := newHostRig(t, host.Options{}, Settings{}, wish, buildPlan(t, "network", smallNetwork))
		r.train([]batch{{4, 4, true}})
		_, err := r.stages[0].Forward([]Source{Float32s(noise(1, 3*16), 1, 3, 4, 4)})
		require.ErrorContains(t, err, "one value per channel")
		texts = append(texts, errors.Unwrap(err).Error())
		r.close()
	}
	require.Equal(t, texts[0], texts[1])
}
