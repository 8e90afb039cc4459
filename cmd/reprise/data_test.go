package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/scenes"
)

func runData(t *testing.T, args ...string) (string, string, int) {
	t.Helper()
	var out, errs bytes.Buffer
	code := execute(append([]string{"data"}, args...), &out, &errs)
	return out.String(), errs.String(), code
}

func TestDataCommands(t *testing.T) {
	root := t.TempDir()
	set := filepath.Join(root, "set")
	require.NoError(t, scenes.WriteOriented(set, scenes.Folder{Train: 3, Val: 1}, scenes.Options{Size: 96, Objects: 3, Seed: 2}))
	file := filepath.Join(set, "data.yaml")

	out, _, code := runData(t, "check", "-data", file)
	require.Zero(t, code)
	require.Contains(t, out, "labels for obb, judged by the labels")
	require.Contains(t, out, "\n0 faults\n")

	out, _, code = runData(t, "view", "-data", file, "-n", "2", "-out", filepath.Join(root, "view"))
	require.Zero(t, code)
	require.Contains(t, out, "sheet.png")
	_, _, code = runData(t, "view", "-data", file, "-n", "2", "-augmented", "-size", "96", "-out", filepath.Join(root, "augmented"))
	require.Zero(t, code)

	out, _, code = runData(t, "tile", "-data", file, "-patch", "64", "-overlap", "16", "-out", filepath.Join(root, "tiles"))
	require.Zero(t, code)
	require.Contains(t, out, "4 images, 16 tiles, ")
	_, _, code = runData(t, "check", "-data", filepath.Join(root, "tiles"), "-task", "obb", "-json")
	require.Zero(t, code)

	require.NoError(t, os.WriteFile(filepath.Join(set, "labels", "train", "scene00000.txt"), []byte("9 .1 .1 .5 .1 .5 .3 .1 .3\n"), 0o644))
	out, errs, code := runData(t, "check", "-data", file)
	require.Equal(t, 1, code)
	require.Contains(t, out, "scene00000.txt:1: class 9 is outside 0..3; ")
	require.Contains(t, errs, "has faults; correct them as the list says")
}

func TestDataFlagsAreChecked(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"check"}, "-data is not set; give a data.yaml file"},
		{[]string{"view", "-data", "x"}, "-out is not set; give a directory for the pictures"},
		{[]string{"view", "-data", "x", "-out", "y", "-n", "0"}, "-n is 0; give 1 or more"},
		{[]string{"tile", "-data", "x"}, "-out is not set; give a new directory for the tiles"},
		{[]string{"check", "-data", "nowhere.yaml"}, "nowhere.yaml: no such file or directory; give a data.yaml file"},
		{[]string{"check", "-data", "data.go", "-task", "x"}, "data.go"},
	} {
		_, errs, code := runData(t, test.args...)
		require.Equal(t, 1, code)
		require.Contains(t, errs, test.want)
	}
}
