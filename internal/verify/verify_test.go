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

// kinds lists what was compared.
func kinds(r *verify.Result) []string {
	var out []string
	for _, w := range r.Worst {
		out = append(out, w.Kind)
	}
	return out
}

// Every kind of number of a training pass and an evaluation pass is within 1e-9
// of the reference in float64 and within 1e-4 and 1e-3 in float32.
func TestCase(t *testing.T) {
	for _, precision := range []device.Precision{device.Float64, device.FP32} {
		t.Run(string(precision), func(t *testing.T) {
			r := run(t, verify.Request{File: caseFile, Precision: precision})
			require.Empty(t, r.Failure)
			require.Equal(t, "case", r.Kind)
			require.Equal(t, "obb", r.Task)
			require.Equal(t, []string{
				verify.KindEvaluation, verify.KindGradient, verify.KindImage, verify.KindOutput,
				verify.KindParameters, verify.KindStatistics, verify.KindVanishing,
			}, kinds(r))
		})
	}
}

var trajectoryKinds = []string{
	verify.KindAssigned, verify.KindEMA, verify.KindGradient, verify.KindMomentum, verify.KindNorm, verify.KindParameter,
	verify.KindPresence, verify.KindQuality, verify.KindSchedule, verify.KindStatistics, verify.KindTerm,
}

// Twelve training steps, replayed wherever the batch is full, stay within 1e-6
// of the reference in float64: losses, assignment, presence, gradients, weights,
// momentum, average and statistics.
func TestTrajectoryReplayed(t *testing.T) {
	r := run(t, verify.Request{File: trajectoryFile, Precision: device.Float64, Capture: true})
	require.Empty(t, r.Failure)
	require.Equal(t, "trajectory", r.Kind)
	require.Equal(t, 9, r.Replayed)
	require.Equal(t, trajectoryKinds, kinds(r))
}

// In float32 the first steps are compared, natively here.
func TestTrajectoryInSinglePrecision(t *testing.T) {
	r := run(t, verify.Request{File: trajectoryFile, Precision: device.FP32})
	require.Empty(t, r.Failure)
	require.Zero(t, r.Replayed)
	require.Equal(t, trajectoryKinds, kinds(r))
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
