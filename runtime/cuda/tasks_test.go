//go:build cuda

package cuda_test

import (
	"fmt"
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
//
// An image of 32 x 96 px has three pixels on its smallest maps, and over three
// values some batch norms divide by 1/300. In float64 gradients of maps grow to
// 1.3e6 on their way to the first layer then, beyond the 65504 of FP16: as in a fit
// the loss is scaled so that they fit.
func TestTasksReplayEqualsNative(t *testing.T) {
	steps := 5
	if testing.Short() {
		steps = 1
	}
	for _, n := range networks[1:] {
		for _, p := range precision {
			for _, sizes := range []ir.Sizes{{Batch: 3, Height: 96, Width: 64}, {Batch: 1, Height: 32, Width: 96}} {
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
	if p == device.FP16 {
		native.lossScale = fittingScale(t, n, sizes, steps)
		replayed.lossScale = native.lossScale
	}
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
		require.Empty(t, notFinite(want), "step %d with loss scale %v", step, native.lossScale)
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

// fittingScale is the largest loss scale, of the powers of 2^-4, at which nothing
// overflows in the given steps: what the scaler of a fit would come to.
func fittingScale(t *testing.T, n network, sizes ir.Sizes, steps int) float32 {
	t.Helper()
	o := openNetwork(t, n, device.FP16, sizes)
	defer o.close()
	for scale := float32(1); scale >= 0x1p-24; scale /= 16 {
		o.lossScale = scale
		found := ""
		for step := 0; step < steps && found == ""; step++ {
			o.inputs(uint64(step))
			o.run()
			found = notFinite(o.state())
		}
		if found == "" {
			return scale
		}
		t.Logf("loss scale %v is too large: %s", scale, found)
	}
	require.Fail(t, "FP16 overflows at every loss scale")
	return 0
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
