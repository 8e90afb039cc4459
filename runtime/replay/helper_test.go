package replay

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/device"
)

// rig is a fit of pairPlan stages on a fake device.
type rig struct {
	*testing.T
	dev      *fakeDevice
	fit      *Fit
	stage    *Stage
	warnings []string
}

func newRig(t *testing.T, settings Settings, options StageOptions) *rig {
	return newRigOn(t, newFake(), settings, options)
}

func newRigOn(t *testing.T, dev *fakeDevice, settings Settings, options StageOptions) *rig {
	r := &rig{T: t, dev: dev}
	settings.Warn = func(w string) { r.warnings = append(r.warnings, w) }
	var err error
	r.fit, err = NewFit(dev, settings)
	require.NoError(t, err)
	r.stage, err = r.fit.AddStage(pairPlan("pair"), options)
	require.NoError(t, err)
	return r
}

var capture = StageOptions{Capture: true, Option: "capture_network"}

// values gives n times v.
func values(v float32, n int) []float32 { return slices.Repeat([]float32{v}, n) }

// image is a source (batch, 1, size, size) filled with v.
func image(v float32, batch, size int) Source {
	return Float32s(values(v, batch*size*size), batch, 1, size, size)
}

// forward runs a full batch of one 2x2 image.
func (r *rig) forward(x float32) []*Tensor {
	r.Helper()
	out, err := r.stage.Forward([]Source{image(x, 1, 2)})
	require.NoError(r, err)
	return out
}

// backward sends cotangents filled with the numbers; nil is absent.
func (r *rig) backward(o1, o2 *float32) {
	r.Helper()
	require.NoError(r, r.stage.Backward([]Source{cotangent(o1), cotangent(o2)}))
}

func cotangent(v *float32) Source {
	if v == nil {
		return Source{}
	}
	return image(*v, 1, 2)
}

func number(v float32) *float32 { return &v }

// step runs one whole training step with cotangents of one.
func (r *rig) step(x float32) {
	r.Helper()
	r.forward(x)
	r.backward(number(1), number(1))
}

// gradient gives the value and presence of the gradient of a parameter.
func (r *rig) gradient(i int) (float32, Presence) {
	r.Helper()
	g, presence := r.stage.Gradient(i)
	if presence == Absent {
		require.Nil(r, g)
		return 0, Absent
	}
	return read(r.T, g)[0], Present
}

func (r *rig) report() StageReport { return r.fit.Report().Stages[0] }

// steps is the buffer that counts training forward passes.
func (r *rig) steps() int64 {
	r.Helper()
	var n [1]int64
	require.NoError(r, r.stage.Buffer(0).ReadInt64(n[:]))
	return n[0]
}

// close ends the fit and checks that nothing is left alive.
func (r *rig) close() {
	r.Helper()
	require.NoError(r, r.fit.Close())
	require.Zero(r, r.dev.counters.Recordings)
	require.Zero(r, r.dev.counters.Bytes)
}

func read(t *testing.T, from device.Tensor) []float32 {
	t.Helper()
	out := make([]float32, device.Elements(from.Shape()))
	require.NoError(t, from.ReadFloat32(out))
	return out
}

// reasons lists the texts of a report with their counts.
func reasons(r StageReport) map[string]int {
	out := map[string]int{}
	for _, reason := range r.Reasons {
		out[reason.Guard+" "+reason.Text] = reason.Calls
	}
	return out
}
