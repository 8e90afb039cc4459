package trainer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/config"
)

// recorded asks for the optimizer's recording beside other changes.
func recorded(changes ...func(*config.Settings)) func(*config.Settings) {
	return func(s *config.Settings) {
		s.Model.CaptureOptimizer = true
		for _, change := range changes {
			if change != nil {
				change(s)
			}
		}
	}
}

// Invariant I1 and field case PO-01: with the optimizer recorded, alone or with
// the network, a fit with warm-up, partial batches, batches without objects and
// validation is the native fit in every hash, loss and figure; every step
// replayed the optimizer by one launch.
func TestRecordedOptimizerFitEqualsNative(t *testing.T) {
	want := reference(t)
	for name, change := range map[string]func(*config.Settings){"alone": recorded(), "with the network": captured(recorded())} {
		t.Run(name, func(t *testing.T) {
			f, got := start[float32]{settings: settings(t, change)}.run(t)
			require.Equal(t, want, got)
			r := f.reportOf("optimizer")
			require.True(t, r.Asked)
			require.Equal(t, 1, r.Recorded)
			require.Equal(t, 2*batches, r.Replayed)
			require.EqualValues(t, 2*batches, r.GraphLaunches)
			require.Zero(t, r.KernelLaunches)
			require.Empty(t, f.log.String())
		})
	}
}

func TestRecordedOptimizerFitEqualsNativeInFloat64(t *testing.T) {
	double := func(s *config.Settings) { s.Trainer.Precision = "float64" }
	_, want := start[float64]{settings: settings(t, double)}.run(t)
	_, got := start[float64]{settings: settings(t, captured(recorded(double)))}.run(t)
	require.Equal(t, want, got)
}

// Guard G2 keeps the optimizer native with the network; the reason is its own.
func TestAccumulationKeepsTheOptimizerNative(t *testing.T) {
	accumulate := func(s *config.Settings) { s.Trainer.Accumulate = 2 }
	_, want := start[float32]{settings: settings(t, accumulate)}.run(t)
	f, got := start[float32]{settings: settings(t, recorded(accumulate))}.run(t)
	require.Equal(t, want, got)
	r := f.reportOf("optimizer")
	require.Zero(t, r.Recorded)
	require.Equal(t, "gradient accumulation 2", r.Reasons[0].Text)
	require.Contains(t, f.log.String(), "capture_optimizer was asked for but nothing of stage optimizer was replayed: gradient accumulation 2")
}

// Guard G5: a parameter that is frozen in the middle has an absent gradient; the
// recorded optimizer goes on and leaves weight and momentum of it alone.
func TestParameterFrozenUnderARecordedOptimizer(t *testing.T) {
	run := func(change func(*config.Settings)) (*fixture[float32], outcome) {
		f := start[float32]{settings: settings(t, change)}.begin(t)
		f.after = func(step int) {
			if step == 3 {
				s := f.fit.Stages()[0]
				require.NoError(t, s.SetTrainable(s.Plan().Parameters[4].Name, false))
			}
		}
		require.NoError(t, f.fit.Run(context.Background()))
		out := f.outcome()
		f.close()
		return f, out
	}
	_, want := run(nil)
	require.NotEqual(t, reference(t), want, "freezing changes the fit")
	f, got := run(captured(recorded()))
	require.Equal(t, want, got)
	require.Equal(t, 2*batches, f.reportOf("optimizer").Replayed)
}

// A checkpoint of a recorded fit goes on natively and the other way round: its
// keys and bytes do not depend on the option (invariant I9, field case LC-10).
func TestResumeUnderARecordedOptimizer(t *testing.T) {
	want := reference(t)
	for name, change := range map[string][2]func(*config.Settings){
		"recorded then native": {recorded(), nil}, "native then recorded": {nil, recorded()}, "recorded twice": {recorded(), recorded()},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first := start[float32]{settings: settings(t, func(s *config.Settings) {
				in(dir)(s)
				if change[0] != nil {
					change[0](s)
				}
			}), stopAfter: 3}.begin(t)
			require.NoError(t, first.fit.Run(context.Background()))
			first.close()
			_, got := start[float32]{settings: settings(t, func(s *config.Settings) {
				resumed(dir)(s)
				if change[1] != nil {
					change[1](s)
				}
			})}.run(t)
			require.Equal(t, want.Hashes, got.Hashes)
			require.Equal(t, want.Losses, got.Losses)
		})
	}
}
