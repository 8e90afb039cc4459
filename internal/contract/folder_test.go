package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/networks"
	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// folderFit is a fit as the train command runs it, which keeps its results in a
// run folder.
type folderFit struct {
	file     string // data.yaml
	settings func() *config.Settings
	steps    int // of the whole fit
	partial  int // of them with a partial batch
}

// inEveryWay trains natively, natively again and in every way of recording, with
// the optimizer, and requires that all leave the same checkpoint, losses and
// validation figures. It gives the summary of the first fit and its files.
func (f folderFit) inEveryWay(t *testing.T) (*run.Summary, map[string][]byte) {
	t.Helper()
	summary, native := f.run(t, f.settings(), 0)
	_, again := f.run(t, f.settings(), 0)
	requireSame(t, native, again, "two native fits")
	for _, w := range ways {
		s := f.settings()
		if w.stages[s.Task] == "" {
			continue
		}
		record(s, w.capture)
		summary, got := f.run(t, s, 0)
		requireSame(t, native, got, w.name)
		f.checkReplays(t, summary, w.stages[s.Task])
	}
	return summary, native
}

// record turns options on, and the recording of the optimizer.
func record(s *config.Settings, capture []trainer.CaptureOption) {
	s.Model.CaptureOptimizer = true
	for _, option := range capture {
		switch option {
		case trainer.CaptureNetwork:
			s.Model.CaptureNetwork = true
		case trainer.CaptureSegmentHeads:
			s.Model.CaptureSegmentHeads = true
		case trainer.CaptureFull:
			s.Model.CaptureNetwork, s.Model.CaptureFull = true, true
		}
	}
}

// run trains, to the end or a number of steps, and gives the files of the run
// folder that recording must not change, by name.
func (f folderFit) run(t *testing.T, s *config.Settings, stopAfter int) (*run.Summary, map[string][]byte) {
	t.Helper()
	if s.Run.Resume == "" {
		s.Run.Dir = t.TempDir()
	}
	plans, err := networks.Find(networks.Want{Task: s.Task, Scale: s.Model.Scale, Classes: s.Model.Classes, Keypoints: s.Model.Keypoints})
	require.NoError(t, err)
	summary, err := run.Fit(context.Background(), run.Request{
		Settings: s, DataFile: f.file, StopAfter: stopAfter,
		Network: run.Network{Task: s.Task, Scale: s.Model.Scale, Classes: s.Model.Classes, Keypoints: s.Model.Keypoints, Plans: plans},
	})
	require.NoError(t, err)
	if stopAfter > 0 {
		require.Equal(t, stopAfter, summary.Steps)
		return summary, nil
	}
	require.Equal(t, f.steps, summary.Steps)
	files := map[string][]byte{"validation": validationOf(t, s)}
	for _, name := range []string{trainer.CheckpointName, trainer.LossesName} {
		files[name], err = os.ReadFile(filepath.Join(s.Run.Dir, name))
		require.NoError(t, err)
	}
	return summary, files
}

// validationOf gives the figures of every epoch without their times.
func validationOf(t *testing.T, s *config.Settings) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Run.Dir, run.MetricsJSONName))
	require.NoError(t, err)
	var figures bytes.Buffer
	for line := range bytes.Lines(text) {
		var epoch struct{ Validation json.RawMessage }
		require.NoError(t, json.Unmarshal(line, &epoch))
		require.NotEmpty(t, epoch.Validation)
		figures.Write(append(epoch.Validation, '\n'))
	}
	require.Equal(t, s.Trainer.MaxEpochs, bytes.Count(figures.Bytes(), []byte{'\n'}))
	return figures.Bytes()
}

func requireSame(t *testing.T, want, got map[string][]byte, way string) {
	t.Helper()
	for name := range want {
		require.True(t, bytes.Equal(want[name], got[name]), "%s: %s differs", way, name)
	}
}

// checkReplays asserts that the named stages, and no other of the network, were
// replayed in every step with a full batch, and the optimizer in every step whose
// gradients were finite: a replay of a stage is a launch forward and, if the
// objective used an output of it, one backward.
func (f folderFit) checkReplays(t *testing.T, summary *run.Summary, stages string) {
	t.Helper()
	require.Less(t, summary.Overflows, f.steps)
	unused := 0 // steps without positives
	for _, s := range summary.Recording.Stages {
		if s.Name == "coefficients" {
			unused = s.ForwardOnly
		}
	}
	for _, s := range summary.Recording.Stages {
		switch {
		case strings.HasPrefix(s.Name, "optimizer"):
			require.Equal(t, f.steps-summary.Overflows, s.Replayed, s.Name)
			require.EqualValues(t, s.Replayed, s.GraphLaunches, s.Name)
		case strings.Contains(" "+stages+" ", " "+s.Name+" "):
			require.Equal(t, f.steps-f.partial, s.Replayed, s.Name)
			require.Equal(t, f.partial, s.Partial, s.Name)
			require.Equal(t, forwardOnly(s.Name, unused), s.ForwardOnly, s.Name)
			require.EqualValues(t, 2*s.Replayed-s.ForwardOnly, s.GraphLaunches, s.Name)
		default:
			require.Zero(t, s.Recorded+s.Replayed, s.Name)
		}
	}
	require.Empty(t, summary.Recording.Warnings)
}
