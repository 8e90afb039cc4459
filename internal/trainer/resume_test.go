package trainer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// resumed continues the fit of a run folder.
func resumed(dir string) func(*config.Settings) {
	return func(s *config.Settings) { s.Run.Dir, s.Run.Resume = dir, filepath.Join(dir, trainer.CheckpointName) }
}

// files gives the checkpoint and the losses of a run folder.
func files(t *testing.T, dir string) [2]string {
	t.Helper()
	losses, err := os.ReadFile(filepath.Join(dir, trainer.LossesName))
	require.NoError(t, err)
	return [2]string{string(read(t, dir)), string(losses)}
}

// requireSame asserts that a fit which was broken off and resumed, possibly in
// the other way, left the state, losses, last validation and files of the
// unbroken one.
func requireSame(t *testing.T, want outcome, wantFiles [2]string, got outcome, dir string) {
	t.Helper()
	require.Equal(t, want.Hashes, got.Hashes)
	require.Equal(t, want.Losses, got.Losses)
	last := len(got.Validation) - 1
	require.Equal(t, want.Validation[len(want.Validation)-1], got.Validation[last])
	gotFiles := files(t, dir)
	require.True(t, wantFiles[0] == gotFiles[0], "the checkpoints differ")
	require.Equal(t, wantFiles[1], gotFiles[1])
}

// Contract section 5 number 8, invariant I9, field cases LC-10, PO-11 and PO-12:
// a fit that stopped in the middle of an epoch or at its border resumes to the
// bytes of the unbroken fit, natively and replayed and from one into the other,
// with augmented images in shuffled order and mosaics in the first epoch only.
func TestResumeEqualsUnbroken(t *testing.T) {
	average := func(s *config.Settings) { s.Optim.EMADecay, s.Optim.EMATau = 0.9, 2 }
	dir := t.TempDir()
	unbroken := start[float32]{settings: settings(t, func(s *config.Settings) { average(s); in(dir)(s) }), shuffle: true}
	_, want := unbroken.run(t)
	wantFiles := files(t, dir)
	for _, c := range []struct {
		at            int
		first, second bool // captured
	}{{3, false, false}, {3, true, false}, {batches, false, true}, {6, true, true}} {
		t.Run(fmt.Sprintf("step %d, captured %v then %v", c.at, c.first, c.second), func(t *testing.T) {
			dir := t.TempDir()
			part := func(capture bool, where func(*config.Settings)) *config.Settings {
				return settings(t, func(s *config.Settings) { average(s); where(s); s.Model.CaptureNetwork = capture })
			}
			first := start[float32]{settings: part(c.first, in(dir)), shuffle: true, stopAfter: c.at}.begin(t)
			require.NoError(t, first.fit.Run(context.Background()))
			require.Equal(t, c.at, first.fit.Steps())
			first.close()
			second := start[float32]{settings: part(c.second, resumed(dir)), shuffle: true}
			f, got := second.run(t)
			require.Equal(t, 2*batches-c.at, f.steps)
			require.Equal(t, c.second, f.report().Replayed > 0)
			requireSame(t, want, wantFiles, got, dir)
		})
	}
}

// Contract section 5 number 9: a fit that is cancelled at one of its first
// steps, or at its last before the validation, writes a checkpoint, says that it
// was cancelled, leaves nothing alive, and resumes to the same bytes.
func TestCancelledFitResumes(t *testing.T) {
	want := reference(t)
	for _, at := range []int{1, 2, 3, batches, 2 * batches} {
		t.Run(fmt.Sprint("step ", at), func(t *testing.T) {
			dir := t.TempDir()
			cancelAt(t, at, captured(in(dir)))
			_, got := start[float32]{settings: settings(t, captured(resumed(dir)))}.run(t)
			requireSame(t, want, referenceFiles, got, dir)
		})
	}
}

// The gradients of an open accumulation window are part of the checkpoint: two
// and one micro-batches of three are pending when these fits are cancelled.
func TestResumeInAnOpenWindow(t *testing.T) {
	three := func(s *config.Settings) { s.Trainer.Accumulate = 3 }
	all := func(where func(*config.Settings)) *config.Settings {
		return settings(t, func(s *config.Settings) { three(s); where(s) })
	}
	dir := t.TempDir()
	_, want := start[float32]{settings: all(in(dir))}.run(t)
	wantFiles := files(t, dir)
	for _, at := range []int{2, 4} {
		dir := t.TempDir()
		cancelAt(t, at, func(s *config.Settings) { three(s); in(dir)(s) })
		_, got := start[float32]{settings: all(resumed(dir))}.run(t)
		requireSame(t, want, wantFiles, got, dir)
	}
}

// cancelAt runs a fit that is cancelled during a micro-batch, counted from 1.
func cancelAt(t *testing.T, at int, change func(*config.Settings)) {
	t.Helper()
	start[float32]{settings: settings(t, change)}.cancelAt(t, at)
}

func (s start[T]) cancelAt(t *testing.T, at int) {
	t.Helper()
	f := s.begin(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.after = func(step int) {
		if step == at {
			cancel()
		}
	}
	require.ErrorIs(t, f.fit.Run(ctx), context.Canceled)
	require.Equal(t, at, f.steps)
	f.close()
}

// A fit that is cancelled before its first step, or resumed after its last, is
// complete too.
func TestResumeAtTheEnds(t *testing.T) {
	dir := t.TempDir()
	f := start[float32]{settings: settings(t, in(dir))}.begin(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, f.fit.Run(ctx), context.Canceled)
	require.Zero(t, f.fit.Steps())
	f.close()
	_, got := start[float32]{settings: settings(t, resumed(dir))}.run(t)
	require.Equal(t, reference(t), got)

	over, again := start[float32]{settings: settings(t, resumed(dir))}.run(t)
	require.Zero(t, over.steps)
	require.Equal(t, got.Hashes, again.Hashes)
	require.Equal(t, got.Losses, again.Losses)
}

// A checkpoint of another fit, or one that is damaged, is refused with one error
// that names the keys or the file and the remedy.
func TestResumeRefusesAnotherFit(t *testing.T) {
	dir := t.TempDir()
	begun := start[float32]{settings: settings(t, in(dir)), stopAfter: 1}.begin(t)
	require.NoError(t, begun.fit.Run(context.Background()))
	begun.close()
	file := filepath.Join(dir, trainer.CheckpointName)
	original, other := read(t, dir), filepath.Join(dir, "other")
	for _, c := range []struct {
		name   string
		change func(*config.Settings)
		spoil  func()
		want   string
	}{
		{
			name:   "settings",
			change: func(s *config.Settings) { s.Optim.LR, s.Trainer.GradientClip = 0.5, 3 },
			want:   file + ` was made with other settings: optim.lr (checkpoint "0.01", now "0.5"), trainer.gradient_clip (checkpoint "10", now "3"); resume with the settings of the checkpoint`,
		},
		{
			name:   "scale",
			change: func(s *config.Settings) { s.Model.Scale = "n" },
			want:   file + " is of task obb, scale t, 4 classes, this fit of task obb, scale n, 4 classes; resume with the settings of the checkpoint",
		},
		{
			name:   "no such file",
			change: func(s *config.Settings) { s.Run.Resume = filepath.Join(dir, "none.safetensors") },
			want:   "none.safetensors",
		},
		{
			name:  "cut",
			spoil: func() { require.NoError(t, os.WriteFile(file, original[:len(original)/2], 0o644)) },
			want:  file,
		},
		{
			name:  "no losses",
			spoil: func() { require.NoError(t, os.Remove(filepath.Join(dir, trainer.LossesName))) },
			want:  "losses.csv is missing; resume in the folder of the fit, or copy its losses.csv beside the checkpoint",
		},
		{
			name:   "another folder",
			change: func(s *config.Settings) { s.Run.Dir = other },
			want:   other + "/losses.csv is missing",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, original, 0o644))
			if c.spoil != nil {
				c.spoil()
			}
			f, err := start[float32]{settings: settings(t, func(s *config.Settings) {
				resumed(dir)(s)
				if c.change != nil {
					c.change(s)
				}
			})}.open(t)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
			require.Zero(t, f.dev.Counters().Bytes, "nothing stays alive")
			require.NoError(t, f.dev.Close())
			require.NoDirExists(t, other)
		})
	}
}

// A fit that goes on with other data than it began with is refused where that
// shows: the epochs before would have had another number of batches.
func TestResumeRefusesOtherData(t *testing.T) {
	dir := t.TempDir()
	begun := start[float32]{settings: settings(t, in(dir)), stopAfter: batches + 1}.begin(t)
	require.NoError(t, begun.fit.Run(context.Background()))
	begun.close()
	f, err := start[float32]{settings: settings(t, resumed(dir)), split: "val"}.open(t)
	require.EqualError(t, err, filepath.Join(dir, trainer.CheckpointName)+
		" was written after 5 optimizer steps and 0 micro-batches of the next, which is not epoch 1, batch 1 of this data with its 1 batches; resume with the data of the fit")
	require.Zero(t, f.dev.Counters().Bytes)

	_, err = start[float32]{settings: settings(t, func(s *config.Settings) { s.Model.Classes = 5 })}.open(t)
	require.EqualError(t, err, "the data set names 4 classes and the network has 5; give the data that the network was built for")
}

// A checkpoint from before a setting could be chosen is of a fit with its default,
// and of no other.
func TestResumeFromBeforeASetting(t *testing.T) {
	dir := t.TempDir()
	begun := start[float32]{settings: settings(t, in(dir)), stopAfter: 1}.begin(t)
	require.NoError(t, begun.fit.Run(context.Background()))
	begun.close()
	file := filepath.Join(dir, trainer.CheckpointName)
	state, err := checkpoint.Load(file)
	require.NoError(t, err)
	const key = "trainer.accumulate_warmup_epochs"
	require.Contains(t, state.Meta.Configuration, key)
	delete(state.Meta.Configuration, key)
	require.NoError(t, checkpoint.Save(file, state))

	_, err = start[float32]{settings: settings(t, func(s *config.Settings) {
		resumed(dir)(s)
		s.Trainer.AccumulateWarmupEpochs = 2
	})}.open(t)
	require.ErrorContains(t, err, key+` (checkpoint "0", now "2")`)
	f := start[float32]{settings: settings(t, resumed(dir)), stopAfter: 2}.begin(t)
	require.NoError(t, f.fit.Run(context.Background()))
	f.close()
}
