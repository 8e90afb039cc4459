package train_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/tasks/obb"
	"github.com/reprise-ml/reprise/tasks/yolo26"
	"github.com/reprise-ml/reprise/train"
)

// network is what a generated module gives its trainer.
func network() train.Network {
	load := func() (*ir.Stage, error) {
		defined, err := obb.Define(yolo26.Test, len(scenes.Classes)).Build()
		if err != nil {
			return nil, err
		}
		return pass.Run(defined, nil)
	}
	return train.Network{Task: "obb", Scale: "t", Classes: len(scenes.Classes), Plans: []func() (*ir.Stage, error){load}}
}

// stdout runs a function and gives what it printed.
func stdout(t *testing.T, do func()) []byte {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	require.NoError(t, err)
	kept := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = kept }()
	do()
	require.NoError(t, file.Close())
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	return text
}

// A module's trainer knows its own task, scale and class count, takes the same
// settings as reprise train, and gives the same fit in both ways.
func TestRun(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	require.NoError(t, scenes.WriteOriented(folder, scenes.Folder{Train: 2, Val: 1}, scenes.Options{Size: 64, Objects: 3, Seed: 5}))
	var summaries []run.Summary
	for _, capture := range []string{"false", "true"} {
		dir := filepath.Join(t.TempDir(), "run")
		text := stdout(t, func() {
			require.NoError(t, train.Run(t.Context(), network(), []string{
				"-data", folder, "-json", "-data.img_size=64", "-data.batch_size=2", "-trainer.max_epochs=2", "-optim.ns_steps=1",
				"-model.capture_network=" + capture, "-run.dir", dir,
			}))
		})
		var s run.Summary
		require.NoError(t, json.Unmarshal(text, &s))
		require.FileExists(t, filepath.Join(dir, trainer.CheckpointName))
		summaries = append(summaries, s)
	}
	native, replayed := summaries[0], summaries[1]
	require.Equal(t, "obb", native.Task)
	require.Equal(t, "t", native.Scale)
	require.Equal(t, 4, native.Classes)
	require.Equal(t, native.Hashes, replayed.Hashes)
	require.Zero(t, native.Recording.Stages[0].Replayed)
	require.Equal(t, 2, replayed.Recording.Stages[0].Replayed)
}

// Mistakes are returned, not printed, and settings that ask for another network
// say how to get it.
func TestRunRefuses(t *testing.T) {
	text := stdout(t, func() {
		require.EqualError(t, train.Run(context.Background(), network(), nil), "-data is not set; give the data.yaml or the root directory of a data set")
		err := train.Run(context.Background(), network(), []string{"-data", "x", "-model.scale=n"})
		require.EqualError(t, err, "the generated network is obb at scale t with 4 classes, the settings ask for obb at scale n with 4 classes; change model.scale and model.classes, or generate that network with reprise new")
		require.ErrorContains(t, train.Run(context.Background(), network(), []string{"-model.scales=n"}), "did you mean --model.scale?")
	})
	require.Empty(t, text)
}
