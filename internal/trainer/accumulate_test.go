package trainer_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// Guard G2, field cases GR-06 and PO-08: with accumulation nothing is recorded,
// the fit is the native one, and micro-batches that are left over at the end of
// an epoch carry to the next: 8 in windows of 3 are 2 steps and 2 pending.
func TestAccumulationIsNative(t *testing.T) {
	f, native := requireNative(t, func(s *config.Settings) { s.Trainer.Accumulate = 3 })
	require.Equal(t, 2, f.fit.Steps())
	state, err := f.fit.State()
	require.NoError(t, err)
	require.Equal(t, 2, state.Meta.Pending)
	f.close()
	require.NotEqual(t, reference(t).Hashes.Model, native.Hashes.Model)
}

// requireNative runs a fit with accumulation 3 with and without recording; both
// must be native for that reason in all steps, and equal.
func requireNative(t *testing.T, change func(*config.Settings)) (*fixture[float32], outcome) {
	t.Helper()
	_, native := start[float32]{settings: settings(t, change)}.run(t)
	f := start[float32]{settings: settings(t, captured(change))}.begin(t)
	explained := f.fit.Explain()[0]
	require.False(t, explained.Recorded)
	require.Equal(t, "gradient accumulation 3", explained.Reason.Text)
	require.NoError(t, f.fit.Run(context.Background()))
	require.Equal(t, native, f.outcome())
	report := f.report()
	require.Zero(t, report.Recorded)
	require.Zero(t, report.GraphLaunches)
	require.Equal(t, map[string]int{"G2 gradient accumulation 3": 2 * batches}, f.reasons())
	require.Contains(t, f.fit.Report().String(), "gradient accumulation 3")
	return f, native
}

// growing lets the accumulation grow to 3 in the first epoch of four: at its
// micro-batches 0, 1, 3 and 5 windows of 1, 2, 2 and 3 open (1 + 2 m/4, halves to
// even), of which the third crosses into the second epoch, for all 8.
func growing(s *config.Settings) { s.Trainer.Accumulate, s.Trainer.AccumulateWarmupEpochs = 3, 1 }

// Guard G2 with a warm-up: nothing is recorded, not even the first step, which
// has one micro-batch alone. The schedule ends with the last of the four steps.
func TestAccumulationWarmupIsNative(t *testing.T) {
	f, native := requireNative(t, growing)
	require.Equal(t, 4, f.fit.Steps())
	state, err := f.fit.State()
	require.NoError(t, err)
	require.Zero(t, state.Meta.Pending)
	s := settings(t, nil)
	require.InDelta(t, s.Optim.LR*s.Optim.LRF, state.Meta.Schedule.Rate, 1e-15)
	require.Equal(t, 4, state.Meta.EMA.Updates)
	warnings := f.log.String
	f.close()
	require.Equal(t, "warning: capture_network was asked for but nothing of stage network was replayed: gradient accumulation 3\n", warnings())
	require.NotEqual(t, reference(t).Hashes.Model, native.Hashes.Model)

	strict := start[float32]{settings: settings(t, captured(growing, func(s *config.Settings) { s.Trainer.Strict = true }))}.begin(t)
	require.EqualError(t, strict.fit.Run(context.Background()),
		"epoch 0, batch 0: stage network: strict: the call cannot be replayed: gradient accumulation 3 (G2); remove the cause, or turn strict off")
	strict.close()
}

// Every micro-batch counts with one over the number of its own step: after the
// first step, which is that of a fit without accumulation, the second micro-batch
// gives half of the gradients that it gives there, and the third adds its own
// half. Halves are exact, so these are equalities of bits.
func TestAccumulationWarmupScalesEachMicroBatch(t *testing.T) {
	trace := func(change func(*config.Settings)) (gradients []map[string][]float32) {
		f := start[float32]{settings: settings(t, func(s *config.Settings) {
			s.Optim.LRF, s.Optim.WarmupEpochs, s.Trainer.GradientClip = 1, 0, 0 // a constant rate, no clipping
			if change != nil {
				change(s)
			}
		}), stopAfter: 2, noVal: true}.begin(t)
		f.after = func(int) { gradients = append(gradients, f.presence()) }
		require.NoError(t, f.fit.Run(context.Background()))
		f.close()
		return gradients
	}
	plain, grown := trace(nil), trace(growing)
	require.Len(t, plain, 2)
	require.Len(t, grown, 3, "steps after the micro-batches 1 and 3")
	require.Equal(t, plain[0], grown[0])
	for name, gradient := range plain[1] {
		require.NotNil(t, gradient)
		for i, v := range gradient {
			if math.Abs(float64(v)) > 0x1p-120 { // a half above the subnormal numbers
				require.Equal(t, v/2, grown[1][name][i], name)
			}
		}
	}
	require.NotEqual(t, grown[1], grown[2])
}

// Field cases PO-08 and PO-12: a fit whose accumulation grows, broken off after
// any of its micro-batches, so at the start, in the middle and at the end of
// steps, of the warm-up and of an epoch, resumes to the bytes of the unbroken one.
func TestResumeInTheAccumulationWarmup(t *testing.T) {
	all := func(where func(*config.Settings)) *config.Settings {
		return settings(t, func(s *config.Settings) { growing(s); where(s) })
	}
	dir := t.TempDir()
	_, want := start[float32]{settings: all(in(dir))}.run(t)
	wantFiles := files(t, dir)
	pending := []int{0, 0, 1, 0, 1, 0, 1, 2, 0}
	for at := 1; at <= 2*batches; at++ {
		t.Run(fmt.Sprint("micro-batch ", at), func(t *testing.T) {
			dir := t.TempDir()
			cancelAt(t, at, func(s *config.Settings) { growing(s); in(dir)(s) })
			resumedFit := start[float32]{settings: all(resumed(dir))}.begin(t)
			state, err := resumedFit.fit.State()
			require.NoError(t, err)
			require.Equal(t, pending[at], state.Meta.Pending)
			require.NoError(t, resumedFit.fit.Run(context.Background()))
			got := resumedFit.outcome()
			resumedFit.close()
			requireSame(t, want, wantFiles, got, dir)
		})
	}
}

// A loss scale multiplies the share of each micro-batch and is taken out of the
// sum of a step: being a power of two it changes no bit, also when the fit is
// broken off in the middle of a step, whose scaled gradients the checkpoint holds.
func TestAccumulationWarmupUnderALossScale(t *testing.T) {
	all := func(where func(*config.Settings)) *config.Settings {
		return settings(t, func(s *config.Settings) { growing(s); where(s) })
	}
	_, plain := start[float32]{settings: settings(t, growing)}.run(t)
	dir := t.TempDir()
	_, scaled := start[float32]{settings: all(in(dir)), scaled: true}.run(t)
	require.Equal(t, plain.Hashes.Model, scaled.Hashes.Model)
	require.Equal(t, plain.Hashes.EMA, scaled.Hashes.EMA)
	require.Equal(t, plain.Losses, scaled.Losses)
	wantFiles := files(t, dir)
	for _, at := range []int{2, 7} { // one of two micro-batches is pending, and two of three
		dir := t.TempDir()
		start[float32]{settings: all(in(dir)), scaled: true}.cancelAt(t, at)
		_, got := start[float32]{settings: all(resumed(dir)), scaled: true}.run(t)
		requireSame(t, scaled, wantFiles, got, dir)
	}
}

// A checkpoint of a fit whose accumulation grows goes on with the same warm-up
// alone, and on data with as many batches: elsewhere it would stand elsewhere.
func TestAccumulationWarmupRefuses(t *testing.T) {
	dir := t.TempDir()
	cancelAt(t, 2, func(s *config.Settings) { growing(s); in(dir)(s) })
	for want, change := range map[string]func(*config.Settings){
		`was made with other settings: trainer.accumulate_warmup_epochs (checkpoint "1", now "2"); resume with the settings of the checkpoint`: func(s *config.Settings) {
			s.Trainer.AccumulateWarmupEpochs = 2
		},
		"trainer.accumulate_warmup_epochs is -1; use 0 for none or a positive, finite number of epochs": func(s *config.Settings) {
			s.Trainer.AccumulateWarmupEpochs = -1
		},
		"trainer.accumulate_warmup_epochs is NaN; use 0": func(s *config.Settings) { s.Trainer.AccumulateWarmupEpochs = math.NaN() },
		"trainer.accumulate_warmup_epochs is +Inf; use 0": func(s *config.Settings) {
			s.Trainer.AccumulateWarmupEpochs = math.Inf(1)
		},
	} {
		f, err := start[float32]{settings: settings(t, func(s *config.Settings) { growing(s); resumed(dir)(s); change(s) })}.open(t)
		require.ErrorContains(t, err, want)
		require.Zero(t, f.dev.Counters().Bytes)
	}
	for at, want := range map[int]string{
		2: " was written after 1 optimizer steps and 1 micro-batches of the next, which is not epoch 0, batch 2 of this data with its 1 batches",
		5: " was written after 3 optimizer steps and 0 micro-batches of the next, which is not epoch 1, batch 1 of this data with its 1 batches",
	} {
		dir := t.TempDir()
		cancelAt(t, at, func(s *config.Settings) { growing(s); in(dir)(s) })
		f, err := start[float32]{settings: settings(t, func(s *config.Settings) { growing(s); resumed(dir)(s) }), split: "val"}.open(t)
		require.EqualError(t, err, filepath.Join(dir, trainer.CheckpointName)+want+"; resume with the data of the fit")
		require.Zero(t, f.dev.Counters().Bytes)
	}
}
