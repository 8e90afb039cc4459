//go:build cuda

package cuda_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

var (
	forward   = device.Forward(ir.Training)
	precision = []device.Precision{device.FP32, device.FP16, device.BF16}
	capture   = replay.StageOptions{Capture: true, Option: "capture_network"}
)

// openDevice opens the first device. Where there is none the test is skipped,
// unless REPRISE_REQUIRE_CUDA is 1.
func openDevice(t testing.TB, options cuda.Options) *cuda.Device {
	t.Helper()
	d, err := cuda.Open(options)
	if err != nil && os.Getenv("REPRISE_REQUIRE_CUDA") != "1" {
		t.Skip(err)
	}
	require.NoError(t, err)
	return d
}

// plan reads a generated plan.
func plan(t testing.TB, load func() (*replay.Plan, error)) *ir.Stage {
	t.Helper()
	p, err := load()
	require.NoError(t, err)
	return p
}

// bound is the small network on a device, with random parameters and inputs.
type bound struct {
	testing.TB
	device  *cuda.Device
	stage   device.Stage
	binding device.Binding

	lossScale float32 // factor of the cotangents, 0 is 1
}

func open(t testing.TB, p device.Precision, sizes ir.Sizes) *bound {
	t.Helper()
	return openOn(t, openDevice(t, cuda.Options{}), p, sizes)
}

func openOn(t testing.TB, d *cuda.Device, p device.Precision, sizes ir.Sizes) *bound {
	t.Helper()
	return openPlan(t, d, plan(t, small.Plan), p, sizes)
}

// openTiny is a stage of one launch, which counts its draws: 16 an image.
func openTiny(t testing.TB) *bound {
	t.Helper()
	return openPlan(t, openDevice(t, cuda.Options{}), plan(t, small.FirstPlan), device.FP32, ir.Sizes{Batch: 1, Height: 1, Width: 1})
}

func openPlan(t testing.TB, d *cuda.Device, stage *ir.Stage, p device.Precision, sizes ir.Sizes) *bound {
	t.Helper()
	s, err := d.Load(stage, p)
	require.NoError(t, err)
	fill(t, s)
	b, err := s.Bind(sizes)
	require.NoError(t, err)
	o := &bound{TB: t, device: d, stage: s, binding: b}
	o.inputs(1)
	return o
}

// fill starts parameters and buffers as a fit would.
func fill(t testing.TB, s device.Stage) {
	t.Helper()
	for i, p := range s.Plan().Parameters {
		values := noise(uint64(i), device.Elements(p.Shape), 0.2)
		if p.Init.Value == 1 {
			for j := range values {
				values[j] += 1
			}
		}
		require.NoError(t, s.Parameter(i).WriteFloat32(values))
	}
	for i, b := range s.Plan().Buffers {
		values := make([]float64, device.Elements(b.Shape))
		for j := range values {
			values[j] = b.Value
		}
		require.NoError(t, s.Buffer(i).WriteFloat64(values))
	}
}

// inputs writes image and cotangents that depend on the seed and the loss scale
// alone.
func (o *bound) inputs(seed uint64) {
	o.Helper()
	plan := o.stage.Plan()
	for i := range plan.Inputs {
		x := o.binding.Input(i)
		require.NoError(o, x.WriteFloat32(noise(seed, device.Elements(x.Shape()), 1)))
	}
	for i := range plan.Outputs {
		x := o.binding.Cotangent(i)
		if x == nil {
			continue // nothing that trains depends on the output
		}
		require.NoError(o, x.WriteFloat32(noise(seed+1000+uint64(i), device.Elements(x.Shape()), 0.1*cmp.Or(o.lossScale, 1))))
	}
}

// run runs a training step natively.
func (o *bound) run() {
	o.Helper()
	require.NoError(o, o.binding.Run(forward))
	require.NoError(o, o.binding.Run(device.BackwardOf(0)))
}

// record records a training step.
func (o *bound) record() []device.Recording {
	o.Helper()
	var out []device.Recording
	for _, p := range []device.Program{forward, device.BackwardOf(0)} {
		r, err := o.binding.Record(p)
		require.NoError(o, err)
		out = append(out, r)
	}
	return out
}

// state reads everything that a step changes, as bits.
func (o *bound) state() map[string][]uint64 {
	o.Helper()
	plan := o.stage.Plan()
	all := map[string][]uint64{}
	add := func(kind string, x device.Tensor) {
		if x == nil {
			return
		}
		values := make([]float64, device.Elements(x.Shape()))
		require.NoError(o, x.ReadFloat64(values))
		bits := make([]uint64, len(values))
		for i, v := range values {
			bits[i] = math.Float64bits(v)
		}
		all[kind+" "+x.Name()] = bits
	}
	for i := range plan.Outputs {
		add("output", o.binding.Output(i))
	}
	for i := range plan.Inputs {
		add("input gradient", o.binding.InputGradient(i))
	}
	for i := range plan.Parameters {
		add("gradient", o.stage.Gradient(i))
	}
	for i := range plan.Buffers {
		add("buffer", o.stage.Buffer(i))
	}
	return all
}

// buffer reads a buffer of counters by the end of its name.
func (o *bound) buffer(suffix string) []int64 {
	o.Helper()
	for i, b := range o.stage.Plan().Buffers {
		if strings.HasSuffix(b.Name, suffix) {
			values := make([]int64, device.Elements(b.Shape))
			require.NoError(o, o.stage.Buffer(i).ReadInt64(values))
			return values
		}
	}
	require.Fail(o, "no buffer", suffix)
	return nil
}

// close closes everything and checks that nothing is left.
func (o *bound) close(recordings ...device.Recording) {
	o.Helper()
	for _, r := range recordings {
		require.NoError(o, r.Close())
	}
	o.closeStage()
	require.NoError(o, o.device.Close())
}

func (o *bound) closeStage() {
	o.Helper()
	require.NoError(o, o.binding.Close())
	require.NoError(o, o.stage.Close())
	counters := o.device.Counters()
	require.Zero(o, counters.Bytes)
	require.Zero(o, counters.Reserved)
	require.Zero(o, counters.Recordings)
	require.Positive(o, counters.PeakBytes)
}

// noise gives seeded values in (-scale, scale).
func noise(seed uint64, n int, scale float32) []float32 {
	stream := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = scale * (2*stream.Float32() - 1)
	}
	return out
}

// notFinite names a value that is not a number or infinite; it is empty when there
// is none.
func notFinite(state map[string][]uint64) string {
	for name, bits := range state {
		for i, b := range bits {
			v := math.Float64frombits(b)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Sprintf("%s: element %d is %v", name, i, v)
			}
		}
	}
	return ""
}

// different names the first tensor that differs, in no particular order.
func different(a, b map[string][]uint64) []string {
	var names []string
	for name, bits := range a {
		for i, v := range bits {
			if v != b[name][i] {
				names = append(names, name)
				break
			}
		}
	}
	return names
}
