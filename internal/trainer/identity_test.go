package trainer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

// Field case PO-10, invariant I1: two native fits are equal.
func TestNativeFitsAreEqual(t *testing.T) {
	_, again := start[float32]{settings: settings(t, nil)}.run(t)
	require.Equal(t, reference(t), again)
}

// Invariants I1 to I4, contract section 5 numbers 1, 2, 3, 5 and 8, field cases
// SG-04 (batches of 2, 2, 2, 1), SG-10 (validation between epochs), YO-01 and
// YO-02 (batches without objects are steps): whatever the settings, the replayed
// fit equals the native one in every hash, every loss and every validation
// figure; its launches show that it replayed.
func TestReplayedFitEqualsNative(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*config.Settings)
		start  start[float32]
	}{
		{name: "defaults"},
		{name: "clipping, average every second step", change: func(s *config.Settings) {
			s.Trainer.GradientClip = 0.5
			s.Optim.EMADecay, s.Optim.EMATau, s.Optim.EMAUpdateEvery = 0.9, 2, 2
		}},
		{name: "augmented and shuffled, without validation", start: start[float32]{shuffle: true, noVal: true}},
	} {
		t.Run(c.name, func(t *testing.T) { requireEqualFits(t, c.start, c.change) })
	}
}

// The device changes colours to the same bits as the loader does, so that a fit
// does not depend on where they are changed.
func TestColorsOfTheDevice(t *testing.T) {
	s := start[float32]{settings: settings(t, nil), shuffle: true}
	_, want := s.run(t)
	s.colors = true
	_, got := s.run(t)
	require.Equal(t, want, got)
	s.settings = settings(t, captured())
	_, got = s.run(t)
	require.Equal(t, want, got, "replayed")
}

// The same in float64, in which reference values are checked.
func TestReplayedFitEqualsNativeInFloat64(t *testing.T) {
	requireEqualFits(t, start[float64]{}, func(s *config.Settings) { s.Trainer.Precision = "float64" })
}

func requireEqualFits[T device.Float](t *testing.T, s start[T], change func(*config.Settings)) {
	t.Helper()
	s.settings = settings(t, change)
	native, first := s.run(t)
	s.settings = settings(t, captured(change))
	replayed, second := s.run(t)
	require.Equal(t, first, second)

	require.Len(t, first.Losses, 2*batches)
	require.Equal(t, 2*batches, native.fit.Steps(), "a batch without objects is a step")
	require.Zero(t, native.report().GraphLaunches)
	got := replayed.report()
	require.Equal(t, 1, got.Recorded)
	require.Equal(t, 6, got.Replayed)
	require.Equal(t, 2, got.Partial)
	require.EqualValues(t, 12, got.GraphLaunches)
	require.Less(t, got.KernelLaunches, native.report().KernelLaunches)
	require.Equal(t, map[string]int{"G4 partial batch": 2}, replayed.reasons())
	require.Empty(t, replayed.log.String())
	if s.noVal {
		require.Nil(t, first.Validation[0])
		return
	}
	require.Equal(t, "loss", first.Validation[1][0].Name)
	require.NotEqual(t, first.Validation[0], first.Validation[1], "validation follows the training")
}

// The settings of the table change the fit, so that its rows test something.
func TestSettingsChangeTheFit(t *testing.T) {
	plain := reference(t)
	s := start[float32]{settings: settings(t, func(s *config.Settings) { s.Trainer.GradientClip = 0.5 })}
	_, clipped := s.run(t)
	require.NotEqual(t, plain.Hashes.Model, clipped.Hashes.Model)
	s.settings = settings(t, func(s *config.Settings) { s.Optim.EMADecay, s.Optim.EMATau, s.Optim.EMAUpdateEvery = 0.9, 2, 2 })
	_, averaged := s.run(t)
	require.Equal(t, plain.Hashes.Model, averaged.Hashes.Model, "the average takes no part in training")
	require.NotEqual(t, plain.Hashes.EMA, averaged.Hashes.EMA)
	require.NotEqual(t, plain.Validation, averaged.Validation, "validation is of the average")
	s.settings = settings(t, func(s *config.Settings) { s.Trainer.Seed = 3 })
	_, seeded := s.run(t)
	require.NotEqual(t, plain.Hashes.Model, seeded.Hashes.Model)
}

// Invariant I8: two fits one after another on one device record each for
// itself, and the first leaves nothing behind that could change the second.
func TestSecondFitInTheProcess(t *testing.T) {
	s := start[float32]{settings: settings(t, captured()), dev: host.Open(host.Options{})}
	first, one := s.run(t)
	second, two := s.run(t)
	require.Equal(t, one, two)
	require.Equal(t, 1, first.report().Recorded)
	require.Equal(t, 1, second.report().Recorded)
	require.Equal(t, first.report(), second.report())
	require.NoError(t, s.dev.Close())
}
