package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const reference = "../../internal/verify/testdata/obb-t.json"

// reprise runs a command line and gives what it printed and its exit code.
func reprise(args ...string) (stdout, stderr string, code int) {
	var out, err bytes.Buffer
	code = execute(args, &out, &err)
	return out.String(), err.String(), code
}

// A reference that is met is exit code 0 and one line for every kind of number.
func TestVerifyPasses(t *testing.T) {
	for _, precision := range []string{"float64", "float32"} {
		out, _, code := reprise("verify", "-golden", reference, "-precision", precision)
		require.Zero(t, code)
		require.Contains(t, out, "  worst gradient ")
		require.True(t, strings.HasSuffix(out, "within tolerance\n"))
	}
}

// A reference that is missed is exit code 1; the first tensor beyond its
// tolerance is named, in JSON too.
func TestVerifyFails(t *testing.T) {
	text, err := os.ReadFile(reference)
	require.NoError(t, err)
	var file map[string]any
	require.NoError(t, json.Unmarshal(text, &file))
	sample := file["outputs"].(map[string]any)["o2m_angle"].(map[string]any)
	sample["l2"] = sample["l2"].(float64) * (1 + 1e-6)
	text, err = json.Marshal(file)
	require.NoError(t, err)
	wrong := filepath.Join(t.TempDir(), "wrong.json")
	require.NoError(t, os.WriteFile(wrong, text, 0o644))

	out, stderr, code := reprise("verify", "-golden", wrong)
	require.Equal(t, 1, code)
	require.Contains(t, out, "FAILED: output o2m_angle: l2 deviates by 1e-06")
	require.Contains(t, stderr, wrong+": output o2m_angle: l2 deviates by 1e-06")
	require.Equal(t, 1, strings.Count(stderr, "\n"))

	out, _, code = reprise("verify", "-golden", wrong, "-json")
	require.Equal(t, 1, code)
	var result struct{ Failure string }
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	require.Contains(t, result.Failure, "output o2m_angle")
}

// Mistakes are one line on standard error and exit code 1.
func TestMistakesAreOneLine(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"-golden is not set; give a file of reference values", []string{"verify"}},
		{"-golden: open none.json: ", []string{"verify", "-golden", "none.json"}},
		{`-precision is "half"; use float64 or float32`, []string{"verify", "-golden", reference, "-precision", "half"}},
		{`-device: device is "tpu"; use host or cuda`, []string{"verify", "-golden", reference, "-device", "tpu"}},
		{"0 folders given; give one, such as reprise new ships", []string{"new"}},
		{"2 folders given; give one, such as reprise new ships", []string{"new", "a", "b"}},
		{"-data is not set; give the data.yaml or the root directory of a data set", []string{"train", "-task", "obb"}},
		{"-steps is 0; use 1 or more", []string{"demo", "-steps", "0", "-out", t.TempDir()}},
		{"unknown flag --goldn; did you mean --golden?", []string{"verify", "-goldn", "x"}},
		{"unknown flag --model.capture; did you mean --model.capture_network?", []string{"train", "--model.capture=true"}},
	} {
		out, stderr, code := reprise(c.args...)
		require.Equal(t, 1, code, c.args)
		require.Empty(t, out, c.args)
		require.Contains(t, stderr, c.want)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}
