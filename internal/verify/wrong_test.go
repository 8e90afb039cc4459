package verify_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/verify"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

// wrong is the host back end with a defect: what a verification is for.
type wrong struct {
	device.Device
	change func(plan *ir.Stage) // before the plan is loaded
	loaded device.Stage
}

// Load implements device.Device.
func (d *wrong) Load(plan *ir.Stage, precision device.Precision) (device.Stage, error) {
	if d.change != nil {
		d.change(plan)
	}
	var err error
	d.loaded, err = d.Device.Load(plan, precision)
	return d.loaded, err
}

// verifyWrong verifies a back end whose plan was changed.
func verifyWrong(t *testing.T, r verify.Request, change func(*ir.Stage)) *verify.Result {
	t.Helper()
	dev := &wrong{Device: host.Open(host.Options{}), change: change}
	result, err := verify.Run(dev, r)
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	return result
}

// One weight of 659506 that is off by 1e-6 of its value fails the case. It is
// changed before the first launch, after the rule has written it.
func TestOneWrongWeight(t *testing.T) {
	for _, relative := range []float64{0, 1e-6} {
		d := &wrong{}
		d.Device = host.Open(host.Options{Fail: func(event string, n int) error {
			if event != "launch" || n != 1 {
				return nil
			}
			weight := d.loaded.Parameter(0)
			values := make([]float64, device.Elements(weight.Shape()))
			if err := weight.ReadFloat64(values); err != nil {
				return err
			}
			values[7] *= 1 + relative
			return weight.WriteFloat64(values)
		}})
		result, err := verify.Run(d, verify.Request{File: caseFile, Precision: device.Float64})
		require.NoError(t, err)
		require.NoError(t, d.Close())
		if relative == 0 {
			require.Empty(t, result.Failure)
			continue
		}
		require.Contains(t, result.Failure, "; the tolerance is 1e-09")
	}
}

// Two halves of a layer that were exchanged fail the case: everything keeps its
// shape, and the parts of a concatenation change places.
func TestSwappedParts(t *testing.T) {
	swapped := ""
	result := verifyWrong(t, verify.Request{File: caseFile, Precision: device.Float64}, func(plan *ir.Stage) {
		for i := range plan.Tensors {
			for k := range i {
				a, b := &plan.Tensors[k], &plan.Tensors[i]
				if swapped == "" && a.Storage == b.Storage && a.Offset.String() != b.Offset.String() && slices.Equal(shapeOf(a), shapeOf(b)) {
					a.Offset, b.Offset = b.Offset, a.Offset
					swapped = a.Name + " and " + b.Name
				}
			}
		}
	})
	require.NotEmpty(t, swapped)
	require.Contains(t, result.Failure, "; the tolerance is 1e-09", swapped)
}

func shapeOf(t *ir.Tensor) []string {
	var out []string
	for _, d := range t.Shape {
		out = append(out, d.String())
	}
	return out
}

// A gradient that is zero in the reference and absent in the fit fails the
// trajectory at the first step, as presence.
func TestZeroTreatedAsAbsent(t *testing.T) {
	const name = "head.o2o.angle_stems.2.2.bias" // no positives at this level in step 0
	result := verifyWrong(t, verify.Request{File: trajectoryFile, Precision: device.FP32}, func(plan *ir.Stage) {
		for i := range plan.Backward {
			b := &plan.Backward[i]
			b.Parameters = slices.DeleteFunc(b.Parameters, func(p string) bool { return p == name })
		}
	})
	require.Contains(t, result.Failure, "step 0, ")
	require.Regexp(t, "^(presence|gradient) ", result.Failure)
}

// A gradient that is absent in the reference and zero in the fit fails too. The
// reference is changed here: the zero gradients of its step 0 are called absent.
func TestAbsentTreatedAsZero(t *testing.T) {
	text, err := os.ReadFile(trajectoryFile)
	require.NoError(t, err)
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var reference map[string]any
	require.NoError(t, decoder.Decode(&reference))
	step := reference["steps"].([]any)[0].(map[string]any)
	step["absent"], step["zero"] = step["zero"], step["absent"]
	text, err = json.Marshal(reference)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "absent.json")
	require.NoError(t, os.WriteFile(file, text, 0o644))
	result := run(t, verify.Request{File: file, Precision: device.FP32})
	require.Contains(t, result.Failure, "presence step 0, absent (want {28 [head.o2o.angle_stems.2 head.o2o.box_stems.2]}, got {0 []})")
}
