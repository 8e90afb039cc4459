package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/tasks/obb"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// network is the oriented test scale for any number of classes.
func network(s *config.Settings) (run.Network, error) {
	load := func() (*ir.Stage, error) {
		defined, err := obb.Define(yolo26.Test, s.Model.Classes).Build()
		if err != nil {
			return nil, err
		}
		return pass.Run(defined, nil)
	}
	return run.Network{Task: "obb", Scale: "t", Classes: s.Model.Classes, Plans: []func() (*ir.Stage, error){load}}, nil
}

// train runs the command as a user types it.
func train(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, progress bytes.Buffer
	err = trainWith(ctx, &out, &progress, args...)
	return out.String(), progress.String(), err
}

func trainWith(ctx context.Context, stdout, stderr io.Writer, args ...string) error {
	command := run.Command(network)
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetOut(stdout)
	command.SetErr(stderr)
	command.SetArgs(run.DoubleDashes(args))
	return command.ExecuteContext(ctx)
}

// scenery draws a data set of three training scenes and one for validation.
func scenery(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	require.NoError(t, scenes.WriteOriented(folder, scenes.Folder{Train: 3, Val: 1}, scenes.Options{Size: 64, Objects: 3, Seed: 5}))
	return filepath.Join(folder, "data.yaml")
}

// usual are the arguments of a small fit of two steps in each of two epochs.
func usual(dataFile, dir string, more ...string) []string {
	return append([]string{
		"-task", "obb", "-data", dataFile, "--model.scale=t", "--data.img_size=64", "--data.batch_size=2",
		"--trainer.max_epochs=2", "--optim.ns_steps=1", "--run.dir=" + dir,
	}, more...)
}

// summary reads the output of -json.
func summary(t *testing.T, stdout string) run.Summary {
	t.Helper()
	var s run.Summary
	require.NoError(t, json.Unmarshal([]byte(stdout), &s))
	return s
}

// folder reads the files of a run folder.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	files := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(text)
	}
	return files
}

// A native and a replayed fit by the command line have equal checkpoints, losses
// and hashes; the class count is that of the data; the run folder holds
// checkpoint, losses and settings, from which the fit can be repeated.
func TestTrainNativeAndReplayed(t *testing.T) {
	dataFile, dir := scenery(t), t.TempDir()
	native, replayed, again := filepath.Join(dir, "native"), filepath.Join(dir, "replayed"), filepath.Join(dir, "again")
	out, progress, err := train(t.Context(), usual(dataFile, native, "-json")...)
	require.NoError(t, err)
	one := summary(t, out)
	require.Equal(t, 4, one.Classes)
	require.Equal(t, 4, one.Steps)
	require.Equal(t, 2, one.Epochs)
	require.Equal(t, 6, one.Images)
	require.Equal(t, filepath.Join(native, trainer.CheckpointName), one.Checkpoint)
	require.NotEmpty(t, one.Validation)
	require.Contains(t, progress, "epoch 1/2  2 steps  3 images")
	require.Contains(t, progress, "val loss ")

	out, _, err = train(t.Context(), usual(dataFile, replayed, "-json", "--model.capture_network")...)
	require.NoError(t, err)
	two := summary(t, out)
	require.Equal(t, one.Hashes, two.Hashes)
	require.Equal(t, one.Validation, two.Validation)
	require.Equal(t, 2, two.Recording.Stages[0].Replayed)
	require.Equal(t, 2, two.Recording.Stages[0].Partial)
	nativeFiles, replayedFiles := folder(t, native), folder(t, replayed)
	for _, name := range []string{run.SettingsName, run.MetricsCSVName, run.MetricsJSONName, run.LossCurveName, run.MetricsCurveName} {
		require.NotEmpty(t, nativeFiles[name], name)
	}
	require.Contains(t, nativeFiles[run.MetricsCSVName], ",val_rotated_mAP,")
	for _, name := range []string{trainer.CheckpointName, trainer.LossesName, run.TrainBatchName, run.ValidationBatchName} {
		require.NotEmpty(t, nativeFiles[name], name)
		require.True(t, nativeFiles[name] == replayedFiles[name], name)
	}
	require.Equal(t, 5, strings.Count(nativeFiles[trainer.LossesName], "\n"))

	out, _, err = train(t.Context(), "-config", filepath.Join(native, run.SettingsName), "-data", dataFile, "--run.dir="+again)
	require.NoError(t, err)
	require.True(t, nativeFiles[trainer.CheckpointName] == folder(t, again)[trainer.CheckpointName], "the kept settings repeat the fit")
	require.Contains(t, out, "sha256 model     "+one.Hashes.Model)
	require.Contains(t, out, "checkpoint "+filepath.Join(again, trainer.CheckpointName))
}

// A fit that stops early resumes to the files of the unbroken one.
func TestTrainResumes(t *testing.T) {
	dataFile, dir := scenery(t), t.TempDir()
	unbroken, broken := filepath.Join(dir, "unbroken"), filepath.Join(dir, "broken")
	_, _, err := train(t.Context(), usual(dataFile, unbroken)...)
	require.NoError(t, err)
	out, _, err := train(t.Context(), usual(dataFile, broken, "-stop-after", "3", "-json")...)
	require.NoError(t, err)
	require.Equal(t, 3, summary(t, out).Steps)
	resume := "--run.resume=" + filepath.Join(broken, trainer.CheckpointName)
	out, _, err = train(t.Context(), usual(dataFile, broken, resume, "--model.capture_network=true", "-json")...)
	require.NoError(t, err)
	require.Equal(t, 4, summary(t, out).Steps)
	require.Equal(t, 1, summary(t, out).Images, "since the resume")
	want, got := folder(t, unbroken), folder(t, broken)
	for _, name := range []string{trainer.CheckpointName, trainer.LossesName} {
		require.True(t, want[name] == got[name], name)
	}

	_, _, err = train(t.Context(), usual(dataFile, broken, resume, "--optim.lr=0.5")...)
	require.ErrorContains(t, err, `was made with other settings: optim.lr (checkpoint "0.01", now "0.5"); resume with the settings of the checkpoint`)

	text, err := os.ReadFile(dataFile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(dataFile, bytes.Replace(text, []byte("ship"), []byte("boat"), 1), 0o644))
	_, _, err = train(t.Context(), usual(dataFile, broken, resume)...)
	require.ErrorContains(t, err, `was made with other labels: class 1 ("ship", now "boat"); resume with the data of the fit`)
}

// The checkpoint of an earlier fit is replaced by the fit that resumes it, however
// the folder is written, and by one that is told to, never by a command given twice.
func TestTrainKeepsTheCheckpointOfAnEarlierFit(t *testing.T) {
	dataFile, parent := scenery(t), t.TempDir()
	dir := filepath.Join(parent, "run")
	_, _, err := train(t.Context(), usual(dataFile, dir, "-stop-after", "1")...)
	require.NoError(t, err)
	file := filepath.Join(dir, trainer.CheckpointName)
	before := folder(t, dir)

	want := "run.dir: " + file + " is the checkpoint of another fit and would be replaced; give another --run.dir, go on with --run.resume=" + file + ", or set --run.overwrite"
	_, _, err = train(t.Context(), usual(dataFile, dir)...)
	require.EqualError(t, err, want)
	copied := filepath.Join(parent, trainer.CheckpointName)
	require.NoError(t, os.WriteFile(copied, []byte(before[trainer.CheckpointName]), 0o644))
	_, _, err = train(t.Context(), usual(dataFile, dir, "--run.resume="+copied)...)
	require.EqualError(t, err, want)
	require.Equal(t, before, folder(t, dir))

	t.Chdir(parent)
	_, _, err = train(t.Context(), usual(dataFile, "run", "-stop-after", "2", "--run.resume="+file)...)
	require.NoError(t, err)
	_, _, err = train(t.Context(), usual(dataFile, dir, "-stop-after", "1", "--run.overwrite")...)
	require.NoError(t, err)
	require.Equal(t, before[trainer.CheckpointName], folder(t, dir)[trainer.CheckpointName])
}

// canceller ends a context when a line about the first epoch is written.
type canceller struct{ cancel context.CancelFunc }

func (c canceller) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte("epoch 1/2")) {
		c.cancel()
	}
	return len(text), nil
}

// An interrupted fit says what it did, leaves its checkpoint and tells how to go
// on; one that was interrupted while it read its data has nothing to tell.
func TestTrainInterrupted(t *testing.T) {
	dataFile, dir := scenery(t), filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	err := trainWith(ctx, &out, canceller{cancel}, usual(dataFile, dir, "-json")...)
	file := filepath.Join(dir, trainer.CheckpointName)
	require.EqualError(t, err, "the fit was interrupted: context canceled; give the same command with --run.resume="+file+" to go on")
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2, summary(t, out.String()).Steps)
	text, _, err := train(t.Context(), usual(dataFile, dir, "-json", "--run.resume="+file)...)
	require.NoError(t, err)
	require.Equal(t, 4, summary(t, text).Steps)

	text, _, err = train(ctx, usual(dataFile, filepath.Join(dir, "new"))...)
	require.EqualError(t, err, "the fit was interrupted: context canceled")
	require.Empty(t, text)
	require.NoDirExists(t, filepath.Join(dir, "new"))
}

// Every mistake of a user is one error that names the flag, key or file and the
// remedy, and no run folder is made.
func TestTrainRefuses(t *testing.T) {
	dataFile, none := scenery(t), filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"no data", "-data is not set; give the data.yaml or the root directory of a data set", []string{"-task", "obb"}},
		{"no task", "task", []string{"-data", dataFile}},
		{"unknown key", "unknown flag --trainer.max_epoch; did you mean --trainer.max_epochs?", usual(dataFile, none, "--trainer.max_epoch=3")},
		{"no section", "unknown flag --batchsize; did you mean --data.batch_size?", usual(dataFile, none, "-batchsize=3")},
		{"unknown flag", "unknown flag --dta; did you mean --data?", usual(dataFile, none, "-dta=3")},
		{"unknown letter", "unknown shorthand flag: 'x' in -x", usual(dataFile, none, "-x")},
		{"bad value", "trainer.max_epochs", usual(dataFile, none, "--trainer.max_epochs=none")},
		{"missing data file", "none.yaml", []string{"-task", "obb", "-data", "none.yaml"}},
		{"classes", dataFile + " names 4 classes, model.classes is 5; set --model.classes=4, or generate a network for them with reprise new -classes 4", usual(dataFile, none, "--model.classes=5")},
		{"device", "this build has no CUDA back end", usual(dataFile, none, "--device=cuda")},
		{"argument", `"full" belongs to no flag; write the value of a flag as --NAME=VALUE, or remove it`, usual(dataFile, none, "--model.capture_network", "full")},
		{"stop", "-stop-after is -3; give a number of optimizer steps, or leave it out", usual(dataFile, none, "-stop-after=-3")},
		{"size", "data.img_size", usual(dataFile, none, "--data.img_size=65")},
		{"scale", "the generated network is obb at scale t with 4 classes, the settings ask for obb at scale s with 4 classes", usual(dataFile, none, "--model.scale=s")},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _, err := train(t.Context(), c.args...)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
			require.Empty(t, out)
			require.NoDirExists(t, none)
		})
	}
}

// One dash does for flags, as with Go's own commands.
func TestDoubleDashes(t *testing.T) {
	require.Equal(t,
		[]string{"train", "--data", "x", "--json", "--trainer.max_epochs=3", "-h", "-5", "--", "-data"},
		run.DoubleDashes([]string{"train", "-data", "x", "--json", "-trainer.max_epochs=3", "-h", "-5", "--", "-data"}))
}
