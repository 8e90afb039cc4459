package verify_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/verify"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

const (
	caseFile       = "testdata/obb-t.json"
	trajectoryFile = "testdata/trajectory-obb-t.json"
)

// run verifies the host back end against a file.
func run(t *testing.T, r verify.Request) *verify.Result {
	t.Helper()
	dev := host.Open(host.Options{})
	result, err := verify.Run(dev, r)
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	return result
}

// A trajectory through Run, recorded where asked, tells how much was replayed.
func TestRunTrajectory(t *testing.T) {
	for _, capture := range []bool{false, true} {
		r := run(t, verify.Request{File: trajectoryFile, Precision: device.FP32, Capture: capture})
		require.Empty(t, r.Failure)
		require.Equal(t, "trajectory", r.Kind)
		require.Equal(t, map[bool]int{false: 0, true: 3}[capture], r.Replayed)
	}
}

// A file that is no reference is one error that names it.
func TestFilesThatAreNoReference(t *testing.T) {
	dev := host.Open(host.Options{})
	for text, want := range map[string]string{
		"":             "not a reference file: EOF",
		"[1]":          "not a reference file",
		`{"name": 1}`:  "neither a reference case nor a training trajectory",
		`{"name": `:    "not a reference file",
		`{"steps": 1}`: "steps",
	} {
		file := filepath.Join(t.TempDir(), "file.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		_, err := verify.Run(dev, verify.Request{File: file, Precision: device.Float64})
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, file, text)
	}
	_, err := verify.Run(dev, verify.Request{File: "none.json", Precision: device.Float64})
	require.ErrorContains(t, err, "none.json")
	_, err = verify.Run(dev, verify.Request{File: caseFile, Precision: device.BF16})
	require.EqualError(t, err, `precision is "bf16"; use float64 or float32`)
	require.NoError(t, dev.Close())
}

// A result is readable by people and by programs, and tells a failure.
func TestResultText(t *testing.T) {
	r := run(t, verify.Request{File: caseFile, Precision: device.Float64})
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), caseFile+": case of task obb in float64")
	require.True(t, strings.HasSuffix(text.String(), "within tolerance\n"))
	r.Failure = "gradient of x"
	text.Reset()
	require.NoError(t, r.WriteText(&text))
	require.True(t, strings.HasSuffix(text.String(), "FAILED: gradient of x\n"))
	_, err := json.Marshal(r)
	require.NoError(t, err)
}
