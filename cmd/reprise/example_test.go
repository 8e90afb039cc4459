package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/run"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/internal/validate"
)

// examples are the example lines of a command and of all below it, by its path.
func examples(command *cobra.Command) map[string][]string {
	all := map[string][]string{}
	for _, line := range strings.Split(command.Example, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			all[command.CommandPath()] = append(all[command.CommandPath()], line)
		}
	}
	for _, below := range command.Commands() {
		for path, lines := range examples(below) {
			all[path] = lines
		}
	}
	return all
}

// Every example in the help calls its own command, with flags and arguments that
// it has; every command that does something has one.
func TestExamplesAreCommandLines(t *testing.T) {
	all := examples(newRootCommand())
	for path, lines := range all {
		for _, line := range lines {
			words := strings.Fields(line)
			require.Equal(t, "reprise", words[0], line)
			command, rest, err := newRootCommand().Find(run.DoubleDashes(words[1:]))
			require.NoError(t, err, line)
			require.Equal(t, path, command.CommandPath(), line)
			require.NoError(t, command.ParseFlags(rest), line)
			require.NoError(t, command.ValidateArgs(command.Flags().Args()), line)
		}
	}
	var bare func(*cobra.Command)
	bare = func(command *cobra.Command) {
		if command.Runnable() && !command.Hidden && command.Name() != "help" {
			require.NotEmpty(t, all[command.CommandPath()], command.CommandPath())
		}
		for _, below := range command.Commands() {
			bare(below)
		}
	}
	bare(newRootCommand())
}

// The examples of the data commands work as written beside data sets of those
// names, and one that tiles once more needs a new directory.
func TestExamplesOfDataRun(t *testing.T) {
	work := t.TempDir()
	require.NoError(t, scenes.WriteOriented(work, scenes.Folder{Train: 1, Val: 1}, scenes.Options{Size: 64, Objects: 2, Seed: 4}))
	t.Chdir(work)
	_, errs, code := runReprise("data", "tile", "-data", "data.yaml", "-out", "coco")
	require.Zero(t, code, errs)
	require.NoError(t, os.MkdirAll("dota/train", 0o755))
	require.NoError(t, os.CopyFS("dota/train/images", os.DirFS(filepath.Join("images", "train"))))
	require.NoError(t, os.MkdirAll("dota/train/labelTxt", 0o755))
	require.NoError(t, os.WriteFile("dota/train/labelTxt/scene00000.txt", []byte("1 1 9 1 9 5 1 5 ship 0\n"), 0o644))
	for _, name := range []string{"check", "tile", "view"} {
		for _, line := range examples(newRootCommand())["reprise data "+name] {
			require.NoError(t, os.RemoveAll("tiles"))
			_, errs, code := runReprise(strings.Fields(line)[1:]...)
			require.Zero(t, code, "%s: %s", line, errs)
		}
	}
}

// The examples of train, val, predict and inspect work as written, in their order,
// beside a data set, settings and photographs of those names. Only the network and
// the fit are made small, by flags behind the example, and the first fit is
// interrupted, so that the last one has something to go on with.
func TestExamplesOfTrainingRun(t *testing.T) {
	work := t.TempDir()
	require.NoError(t, scenes.WriteOriented(work, scenes.Folder{Train: 3, Val: 1}, scenes.Options{Size: 64, Objects: 2, Seed: 4}))
	t.Chdir(work)
	text, err := os.ReadFile("data.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("data.yaml", append([]byte("test: images/val\n"), text...), 0o644))
	require.NoError(t, os.WriteFile("settings.yaml", []byte("task: obb\nmodel:\n  scale: t\n"), 0o644))
	require.NoError(t, os.CopyFS("photos", os.DirFS(filepath.Join("images", "train"))))
	require.NoError(t, os.CopyFS(".", os.DirFS(filepath.Join("images", "val"))))
	require.NoError(t, os.Rename("scene00003.png", "photo.jpg"))

	small := []string{"--model.scale=t", "--data.img_size=64", "--data.batch_size=2", "--optim.ns_steps=1", "--trainer.max_epochs=2"}
	for i, line := range examples(newRootCommand())["reprise train"] {
		args := append(strings.Fields(line)[1:], small...)
		if i == 0 {
			args = append(args, "-stop-after=3")
		}
		_, errs, code := runReprise(args...)
		require.Zero(t, code, "%s: %s", line, errs)
	}
	require.FileExists(t, "runs/first/last.safetensors")
	for _, name := range []string{"val", "predict", "inspect"} {
		for _, line := range examples(newRootCommand())["reprise "+name] {
			out, errs, code := runReprise(strings.Fields(line)[1:]...)
			require.Zero(t, code, "%s: %s", line, errs)
			require.NotEmpty(t, out, line)
		}
	}
	for _, file := range []string{filepath.Join("validation", validate.ReportName), "predictions/photo.jpg.png", "predictions/scene00000.png.png", "network.svg"} {
		require.FileExists(t, file)
	}
}
