package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func runInspect(args ...string) (string, error) {
	var out bytes.Buffer
	command := newInspectCommand()
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetOut(&out)
	command.SetArgs(args)
	err := command.Execute()
	return out.String(), err
}

func TestInspectPrintsTheNetwork(t *testing.T) {
	text, err := runInspect("--task", "obb", "--scale", "t", "--size", "64x96", "--batch", "2")
	require.NoError(t, err)
	require.Contains(t, text, "obb, scale t, 15 classes, batch 2, 64 x 96 px\n")

	text, err = runInspect("--scale", "n", "--json")
	require.NoError(t, err)
	var report struct {
		Parameters, DeployedParameters int
		GFLOPs                         float64
	}
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	require.Equal(t, 2563976, report.Parameters)
	require.Equal(t, 2397964, report.DeployedParameters)
	require.InDelta(t, 14.6771, report.GFLOPs, 5e-5)
}

func TestInspectDraws(t *testing.T) {
	file := filepath.Join(t.TempDir(), "network.svg")
	_, err := runInspect("--scale", "t", "--size", "64", "--svg", file)
	require.NoError(t, err)
	drawing, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(drawing), "obb, scale t, 15 classes")
}

func TestInspectRefusesBadFlags(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--task", "obd"}, `--task: unknown task "obd"; did you mean obb? there are detect, obb, pose, segment`},
		{[]string{"--scale", "nano"}, `--scale: unknown scale "nano"; did you mean n? there are n, s, m, l, x, t`},
		{[]string{"--size", "100"}, `--size: "100" is no size; give multiples of 32 px up to 16384, such as 1024 or 640x1024`},
		{[]string{"--size", "64x"}, `--size: "64x" is no size; give multiples of 32 px up to 16384, such as 1024 or 640x1024`},
		{[]string{"--size", "99999999999999999999"}, `--size: "99999999999999999999" is no size; give multiples of 32 px up to 16384, such as 1024 or 640x1024`},
		{[]string{"--batch", "0"}, "--batch: 0 is no number of images; give 1 or more"},
		{[]string{"--classes", "0"}, "--classes: 0 is no number of classes; give 1 or more"},
		{[]string{"extra"}, `"extra" belongs to no flag; write the value of a flag as --NAME=VALUE, or remove it`},
	} {
		_, err := runInspect(test.args...)
		require.EqualError(t, err, test.want)
	}
	_, err := runInspect("--scale", "t", "--size", "64", "--svg", filepath.Join(t.TempDir(), "missing", "network.svg"))
	require.ErrorContains(t, err, "--svg: ")
	require.ErrorContains(t, err, "; choose a file in a folder that can be written")
}
