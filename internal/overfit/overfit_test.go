package overfit_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/networks"
	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/internal/trainer"
)

var folder = flag.String("overfit", "", "`DIR` that receives the fits of TestOverfit, a folder each; empty skips it")

// The fits: 16 scenes of 160 px in batches of 4, judged every 150 steps.
const (
	images    = 16
	imageSize = 160
	batchSize = 4
	steps     = 1500
	every     = 150
)

// goals say how well a task must know its scenes.
var goals = []struct {
	task   string
	write  func(string, scenes.Folder, scenes.Options) error
	figure string // a name of figures
	least  float64
}{
	{"detect", scenes.WriteDetect, "recall at IoU 0.5", 0.95},
	{"segment", scenes.WriteSegment, "mean mask IoU", 0.7},
	{"obb", scenes.WriteOriented, "map_50", 0.8},
	{"pose", scenes.WritePose, "oks_map", 0.3},
}

// The overfit recipe of the YOLO26 specification (training, section 1) at the
// smallest scale, on the scenes as they are: everything is recorded and replayed,
// the end-to-end path of the weights as trained is judged on the scenes it was
// trained on, and each task reaches its floor within 1500 steps, where its fit
// ends. A task takes two to eight minutes of two cores, so it is asked for:
// make test-overfit.
func TestOverfit(t *testing.T) {
	if *folder == "" {
		t.Skip("takes long; give -overfit DIR to train, or use make test-overfit")
	}
	for _, goal := range goals {
		t.Run(goal.task, func(t *testing.T) {
			dir := filepath.Join(*folder, goal.task)
			require.NoError(t, os.RemoveAll(dir))
			dataDir := filepath.Join(dir, "scenes")
			require.NoError(t, goal.write(dataDir, scenes.Folder{Train: images, Val: 1}, scenes.Options{Size: imageSize, Objects: 6, Seed: 7}))
			dataFile := filepath.Join(dataDir, "data.yaml")
			withoutValidation(t, dataFile)
			log, err := os.Create(filepath.Join(dir, "progress.log"))
			require.NoError(t, err)
			defer log.Close()

			request := request(t, goal.task, dir, dataFile)
			request.Progress = log
			var history []point
			reached := -1.0
			for step := every; step <= steps && reached < goal.least; step += every {
				request.StopAfter = step
				summary, err := run.Fit(context.Background(), request)
				require.NoError(t, err)
				checkReplayed(t, summary)
				request.Settings.Run.Resume = summary.Checkpoint
				now := point{step, figures(t, request, summary.Checkpoint)}
				history, reached = append(history, now), now.value(goal.figure)
				keep(t, dir, goal.figure, goal.least, history)
				t.Logf("step %d, loss %.4f: %v", step, summary.LastEpochLoss, now.figures)
			}
			require.GreaterOrEqual(t, reached, goal.least)
		})
	}
}

// withoutValidation takes the validation split away: the fit is judged here.
func withoutValidation(t *testing.T, dataFile string) {
	t.Helper()
	text, err := os.ReadFile(dataFile)
	require.NoError(t, err)
	text = regexp.MustCompile(`(?m)^val:.*\n`).ReplaceAll(text, nil)
	require.NoError(t, os.WriteFile(dataFile, text, 0o644))
	require.NoError(t, os.RemoveAll(filepath.Join(filepath.Dir(dataFile), "images", "val")))
}

// request is a fit by the recipe, with everything recorded: a constant rate, and
// no mosaic or other random change.
func request(t *testing.T, task, dir, dataFile string) run.Request {
	t.Helper()
	s, err := config.Defaults(task)
	require.NoError(t, err)
	s.Model.Scale, s.Model.Classes = "t", len(scenes.Classes)
	if task == "pose" {
		s.Model.Classes, s.Model.Keypoints = 1, len(scenes.KeypointNames)
	}
	s.Model.CaptureNetwork, s.Model.CaptureFull, s.Model.CaptureOptimizer = true, true, true
	s.Optim.LRF, s.Optim.WarmupEpochs = 1, 0
	s.Data.ImgSize, s.Data.BatchSize, s.Data.Augmentation = imageSize, batchSize, config.Augmentation{}
	s.Trainer.MaxEpochs = steps * batchSize / images
	s.Run.Dir = dir
	plans, err := networks.Find(networks.Want{Task: task, Scale: "t", Classes: s.Model.Classes, Keypoints: s.Model.Keypoints})
	require.NoError(t, err)
	return run.Request{
		Settings: s, DataFile: dataFile,
		Network: run.Network{Task: task, Scale: "t", Classes: s.Model.Classes, Keypoints: s.Model.Keypoints, Plans: plans},
	}
}

// checkReplayed asserts that every stage was replayed in every step.
func checkReplayed(t *testing.T, summary *run.Summary) {
	t.Helper()
	require.Equal(t, trainer.CheckpointName, filepath.Base(summary.Checkpoint))
	for _, s := range summary.Recording.Stages {
		if s.Name == "optimizer_2" { // of the keypoint flow, which lives on the host
			continue
		}
		require.Equal(t, every, s.Replayed, s.Name)
		require.Zero(t, s.Native, s.Name)
	}
}

// point is what a fit was worth after some steps.
type point struct {
	step    int
	figures []figure
}

type figure struct {
	name  string
	value float64
}

func (f figure) String() string { return fmt.Sprintf("%s %.4f", f.name, f.value) }

func (p point) value(name string) float64 {
	at := slices.IndexFunc(p.figures, func(f figure) bool { return f.name == name })
	if at < 0 {
		return -1
	}
	return p.figures[at].value
}
