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
