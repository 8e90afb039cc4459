package contract_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/scenes"
)

// drawn are the synthetic scenes of a task: five to train on, three of them
// without objects, so that a batch of two may have none.
func drawn(t *testing.T, task string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "scenes")
	write := map[string]func(string, scenes.Folder, scenes.Options) error{
		"detect": scenes.WriteDetect, "obb": scenes.WriteOriented, "pose": scenes.WritePose, "segment": scenes.WriteSegment,
	}[task]
	require.NoError(t, write(folder, scenes.Folder{Train: 5, Val: 2}, scenes.Options{Size: imageSize, Objects: 4, Seed: 11}))
	for _, empty := range []int{0, 2, 4} {
		file := filepath.Join(folder, "labels", "train", fmt.Sprintf("scene%05d.txt", empty))
		require.NoError(t, os.WriteFile(file, nil, 0o644))
	}
	return filepath.Join(folder, "data.yaml")
}

// Invariants I1, I3, I4 and I9 as users meet them, at test scale on synthetic
// scenes: three epochs of the task's own recipe by the train command, with
// batches without objects and partial ones, clipping, averaging, a validation
// after each epoch, and a fit that is interrupted fully recorded and goes on
// natively. Everything that a run folder keeps is the same, byte for byte.
func TestScenesInEveryWay(t *testing.T) {
	for _, task := range tasks {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			fit := folderFit{file: drawn(t, task), steps: 9, partial: 3, settings: func() *config.Settings {
				s, err := config.Defaults(task)
				require.NoError(t, err)
				s.Model.Scale, s.Model.Classes = "t", len(scenes.Classes)
				if task == "pose" {
					s.Model.Classes, s.Model.Keypoints = 1, len(scenes.KeypointNames)
				}
				s.Data.ImgSize, s.Data.BatchSize, s.Trainer.MaxEpochs, s.Optim.WarmupEpochs = imageSize, batchSize, 3, 1
				s.Optim.NSSteps = 1 // the orthogonalisation takes most of the time and has tests of its own
				return s
			}}
			_, native := fit.inEveryWay(t)

			first := fit.settings()
			record(first, full)
			summary, _ := fit.run(t, first, 4)
			second := fit.settings()
			second.Run.Dir, second.Run.Resume = first.Run.Dir, summary.Checkpoint
			_, resumed := fit.run(t, second, 0)
			requireSame(t, native, resumed, "interrupted and resumed")
		})
	}
}
