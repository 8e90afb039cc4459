package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBenchStage(t *testing.T) {
	arguments := []string{"bench", "stage", "-device", "host", "-task", "pose", "-scale", "t", "-size", "64x32", "-batch", "1", "-precision", "fp32", "-warmup", "0", "-steps", "1"}
	out, stderr, code := reprise(append(arguments, "-json")...)
	require.Zero(t, code, stderr)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 2)
	var replayed map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &replayed))
	require.Equal(t, "features", replayed["stage"], "the first stage is the default")
	require.Equal(t, "replay", replayed["mode"])
	require.EqualValues(t, 64, replayed["height"])
	require.EqualValues(t, 2, replayed["graph_launches"])

	out, stderr, code = reprise(arguments...)
	require.Zero(t, code, stderr)
	require.Contains(t, out, "pose t features 1x64x32 fp32 on host")
}

func TestBenchMistakes(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{`-task: unknown task "oob"; did you mean obb?`, []string{"-task", "oob"}},
		{`-scale: unknown scale "q"`, []string{"-scale", "q"}},
		{`-size: "100" is no size`, []string{"-size", "100"}},
		{"-batch: 0 is no number of images", []string{"-batch", "0"}},
		{`-precision is "half"; use fp32, fp16, bf16 or float64`, []string{"-precision", "half"}},
		{`-device: device is "tpu"; use host or cuda`, []string{"-device", "tpu"}},
		{"use fp32 or float64", []string{"-device", "host", "-scale", "t"}},
		{`task obb has no stage "head"; it has network`, []string{"-device", "host", "-stage", "head", "-precision", "fp32"}},
	} {
		out, stderr, code := reprise(append([]string{"bench", "stage"}, c.args...)...)
		require.Equal(t, 1, code, c.args)
		require.Empty(t, out, c.args)
		require.Contains(t, stderr, c.want)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}
