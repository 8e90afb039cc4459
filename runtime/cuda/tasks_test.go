//go:build cuda

package cuda_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	generated "github.com/reprise-ml/reprise/generated/obb"
	"github.com/reprise-ml/reprise/internal/testscale/detect"
	"github.com/reprise-ml/reprise/internal/testscale/obb"
	"github.com/reprise-ml/reprise/internal/testscale/pose"
	"github.com/reprise-ml/reprise/internal/testscale/segment"
	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// network is a stage at test scale.
type network struct {
	name string
	load func() (*replay.Plan, error)
}

// networks are all stages of all tasks, the small network first.
var networks = []network{
	{"small", small.Plan}, {"detect", detect.Plan}, {"obb", obb.Plan},
	{"pose/features", pose.FeaturesPlan}, {"pose/head", pose.HeadPlan},
	{"segment/features", segment.FeaturesPlan}, {"segment/head", segment.HeadPlan}, {"segment/coefficients", segment.CoefficientsPlan},
	{"segment/fusion", segment.FusionPlan}, {"segment/prototypes", segment.PrototypesPlan}, {"segment/semantic", segment.SemanticPlan},
}

// openNetwork opens a stage on a device of its own, or skips the test when its
// kernels have not been compiled.
func openNetwork(t *testing.T, n network, p device.Precision, sizes ir.Sizes) *bound {
	t.Helper()
	d := openDevice(t, cuda.Options{})
	s, err := d.Load(plan(t, n.load), p)
	if err != nil {
		require.NoError(t, d.Close())
	}
	needImages(t, err)
	require.NoError(t, s.Close())
	return openPlan(t, d, plan(t, n.load), p, sizes)
}

// Contract section 5 numbers 1 and 2 for every stage of every task, at sizes that
// are not square and odd batches: replayed steps equal native ones byte for byte,
// natively each node is a launch, and replayed a step is two.
func TestTasksReplayEqualsNative(t *testing.T) {
	steps := 5
	if testing.Short() {
		steps = 1
	}
	for _, n := range networks[1:] {
		for _, p := range precision {
			for _, sizes := range []ir.Sizes{{Batch: 3, Height: 96, Width: 64}, {Batch: 1, Height: 32, Width: 96}} {
				if testing.Short() && (p != device.BF16 || sizes.Batch == 1) {
					continue // without a GPU a step takes a minute
				}
				t.Run(fmt.Sprintf("%s/%s/%s", n.name, p, sizes), func(t *testing.T) {
					t.Parallel()
					replayEqualsNative(t, n, p, sizes, steps)
				})
			}
		}
	}
}

// replayEqualsNative runs steps of changing inputs natively and replayed.
func replayEqualsNative(t *testing.T, n network, p device.Precision, sizes ir.Sizes, steps int) {
	t.Helper()
	native, replayed := openNetwork(t, n, p, sizes), openNetwork(t, n, p, sizes)
	recordings := replayed.record()
	start := replayed.device.Counters()
	for step := range steps {
		for _, o := range []*bound{native, replayed} {
			o.inputs(uint64(step))
		}
		native.run()
		for _, r := range recordings {
			require.NoError(t, r.Replay())
		}
		want := native.state()
		if step == 0 {
			finite(t, want)
		}
		require.Empty(t, different(want, replayed.state()), "replay differs at step %d", step)
	}
	launches := int64(recordings[0].Nodes() + recordings[1].Nodes())
	require.Equal(t, int64(steps)*launches, native.device.Counters().KernelLaunches)
	require.Zero(t, native.device.Counters().GraphLaunches)
	require.Equal(t, start.KernelLaunches, replayed.device.Counters().KernelLaunches)
	require.EqualValues(t, 2*steps, replayed.device.Counters().GraphLaunches)
	native.close()
	replayed.close(recordings...)
}

// published is the oriented network at the sizes that it was published for.
var (
	published      = network{"obb", generated.Plan}
	publishedSizes = ir.Sizes{Batch: 4, Height: 1024, Width: 1024}
)

// Field case LC-08: recordings share the memory of their binding, so the driver
// reserves little for them beside it.
func TestRecordingsReserveLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("1024 px are for a GPU")
	}
	o := openNetwork(t, published, device.BF16, publishedSizes)
	before := o.device.Counters()
	recordings := o.record()
	after := o.device.Counters()
	t.Logf("%d MiB reserved before, %d MiB with recordings", before.Reserved>>20, after.Reserved>>20)
	require.Equal(t, before.Bytes, after.Bytes)
	require.LessOrEqual(t, after.Reserved, before.Reserved*3/2)
	o.close(recordings...)
}

// The published oriented network at 1024 px and batch 4, fifty steps in each
// precision.
func TestNanoReplayEqualsNative(t *testing.T) {
	if testing.Short() {
		t.Skip("1024 px are for a GPU")
	}
	for _, p := range precision {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			replayEqualsNative(t, published, p, publishedSizes, 50)
		})
	}
}

// One step of every stage agrees with the host in float64, tensor by tensor.
//
// Every value in memory is rounded once, by at most half a unit: u = 2^-24, 2^-11
// and 2^-9. A tensor that d launches in a row lead to carries d roundings, which
// are independent, so their relative sum is about u*sqrt(d). Normalising by the
// batch and sums that cancel make it larger, for which the bound allows a factor
// of 8: in the L2 norm a tensor may deviate by 8*u*sqrt(d) of its own norm.
// Gradients in front of a batch norm vanish but for rounding, so a thousandth of
// the largest tensor counts as norm at least.
func TestStepAgreesWithHost(t *testing.T) {
	unit := map[device.Precision]float64{device.FP32: 0x1p-24, device.FP16: 0x1p-11, device.BF16: 0x1p-9}
	for _, n := range networks {
		if testing.Short() && n.name != "small" {
			continue // the simulated device takes minutes
		}
		sizes := ir.Sizes{Batch: 4, Height: 64, Width: 96}
		if n.name == "small" {
			sizes = ir.Sizes{Batch: 4, Height: 32, Width: 32}
		}
		want := hostStep(t, n, sizes)
		for _, p := range precision {
			t.Run(n.name+"/"+string(p), func(t *testing.T) {
				o := openNetwork(t, n, p, sizes)
				o.run()
				agrees(t, o, want, unit[p])
				o.close()
			})
		}
	}
}

// agrees compares what a step left with the host's values.
func agrees(t *testing.T, o *bound, want map[string][]float64, unit float64) {
	t.Helper()
	largest := 0.0
	for _, w := range want {
		largest = math.Max(largest, norm(w))
	}
	depth := depths(o.stage.Plan())
	worst, at := 0.0, ""
	for name, got := range o.state() {
		difference := 0.0
		for i, bits := range got {
			d := math.Float64frombits(bits) - want[name][i]
			difference += d * d
		}
		require.Positive(t, depth[name], name)
		bound := 8 * unit * math.Sqrt(float64(depth[name])) * math.Max(norm(want[name]), 1e-3*largest)
		share := math.Sqrt(difference) / bound
		if !(share <= worst) {
			worst, at = share, name
		}
	}
	t.Logf("%s takes %.2f of its bound, more than any other", at, worst)
	require.LessOrEqual(t, worst, 1.0, at)
}

// depths gives the length of the longest row of launches that leads to each
// tensor that a step leaves, by the names of bound.state.
func depths(plan *ir.Stage) map[string]int {
	of := map[ir.StorageID]int{}
	for _, ops := range [][]ir.Op{forward.Ops(plan), device.BackwardOf(0).Ops(plan)} {
		for i := range ops {
			depth := 0
			for _, ref := range ops[i].Reads() {
				depth = max(depth, of[plan.Tensor(ref).Storage])
			}
			for _, ref := range ops[i].Writes() {
				of[plan.Tensor(ref).Storage] = max(of[plan.Tensor(ref).Storage], depth+1)
			}
		}
	}
	out := map[string]int{}
	add := func(kind, name string, ref ir.Ref) {
		if ref != 0 {
			out[kind+" "+name] = max(of[plan.Tensor(ref).Storage], 1)
		}
	}
	for _, o := range plan.Outputs {
		add("output", o.Name, o.Tensor)
	}
	for _, i := range plan.Inputs {
		add("input gradient", i.Name, i.Gradient)
	}
	for _, p := range plan.Parameters {
		add("gradient", p.Name, p.Gradient)
	}
	for _, b := range plan.Buffers {
		add("buffer", b.Name, b.Tensor)
	}
	return out
}

func norm(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// hostStep runs the step of bound.run on the host in float64.
func hostStep(t *testing.T, n network, sizes ir.Sizes) map[string][]float64 {
	t.Helper()
	d := host.Open(host.Options{})
	s, err := d.Load(plan(t, n.load), device.Float64)
	require.NoError(t, err)
	fill(t, s)
	b, err := s.Bind(sizes)
	require.NoError(t, err)
	o := &bound{TB: t, stage: s, binding: b}
	o.inputs(1)
	o.run()
	out := map[string][]float64{}
	for name, bits := range o.state() {
		for _, v := range bits {
			out[name] = append(out[name], math.Float64frombits(v))
		}
	}
	require.NoError(t, b.Close())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
	return out
}

// The depth of a tensor counts its chain and not its program.
func TestDepths(t *testing.T) {
	got := depths(plan(t, small.Plan))
	shallow, deep := math.MaxInt, 0
	for name, d := range got {
		if strings.HasPrefix(name, "output ") {
			shallow = min(shallow, d)
		}
		if strings.HasPrefix(name, "gradient ") {
			deep = max(deep, d)
		}
	}
	require.Greater(t, shallow, 3)
	require.Greater(t, deep, shallow)
	launches := len(forward.Ops(plan(t, small.Plan))) + len(device.BackwardOf(0).Ops(plan(t, small.Plan)))
	require.Less(t, deep, launches)
}
