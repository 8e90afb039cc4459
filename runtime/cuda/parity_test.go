//go:build cuda

package cuda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/testscale/obb"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// Contract section 5 numbers 1 and 2: outputs, gradients and buffers of replayed
// steps equal native ones byte for byte over 50 steps of changing inputs, and the
// launches show that replays were replays. Two native runs are equal first (field
// case PO-10). SE-07: gradients of weights are FP32 in every precision.
func TestReplayEqualsNative(t *testing.T) {
	steps := 50
	if testing.Short() {
		steps = 3
	}
	for _, p := range precision {
		for _, sizes := range []ir.Sizes{{Batch: 4, Height: 32, Width: 32}, {Batch: 3, Height: 24, Width: 40}, {Batch: 1, Height: 40, Width: 16}} {
			t.Run(fmt.Sprintf("%s/%s", p, sizes), func(t *testing.T) {
				native, again, replayed := open(t, p, sizes), open(t, p, sizes), open(t, p, sizes)
				require.Equal(t, device.TypeFloat32, native.stage.Gradient(0).Type())
				recordings := replayed.record()
				start := replayed.device.Counters()
				for step := range steps {
					for _, o := range []*bound{native, again, replayed} {
						o.inputs(uint64(step))
					}
					native.run()
					again.run()
					for _, r := range recordings {
						require.NoError(t, r.Replay())
					}
					want := native.state()
					require.Empty(t, different(want, again.state()), "native runs differ at step %d", step)
					require.Empty(t, different(want, replayed.state()), "replay differs at step %d", step)
				}
				require.Empty(t, notFinite(native.state()))
				launches := int64(recordings[0].Nodes() + recordings[1].Nodes())
				require.Equal(t, int64(steps)*launches, native.device.Counters().KernelLaunches)
				require.Zero(t, native.device.Counters().GraphLaunches)
				require.Equal(t, start.KernelLaunches, replayed.device.Counters().KernelLaunches)
				require.EqualValues(t, 2*steps, replayed.device.Counters().GraphLaunches)
				native.close()
				again.close()
				replayed.close(recordings...)
			})
		}
	}
}

// The oriented-box network at test scale through the runtime: losses, presence
// and state of a fit with partial batches and batches without positives.
func TestFitsAreEqual(t *testing.T) {
	for _, p := range precision {
		t.Run(string(p), func(t *testing.T) {
			native, off := fitOf(t, p, replay.StageOptions{})
			replayed, on := fitOf(t, p, capture)
			require.Equal(t, native, replayed)
			require.Equal(t, 1, on.Recorded)
			require.Equal(t, 4, on.Replayed)
			require.Equal(t, 2, on.Partial)
			require.EqualValues(t, 8, on.GraphLaunches)
			require.Zero(t, off.GraphLaunches)
			require.Less(t, on.KernelLaunches, off.KernelLaunches)
		})
	}
}

// fitOf trains the oriented network for six steps with plain gradient descent
// on half the sum of squares of the used outputs.
func fitOf(t *testing.T, p device.Precision, options replay.StageOptions) ([]replay.Entry, replay.StageReport) {
	t.Helper()
	d := openDevice(t, cuda.Options{})
	fit, err := replay.NewFit(d, replay.Settings{Precision: p, Seed: 7, Batch: 2})
	require.NoError(t, err)
	s, err := fit.AddStage(plan(t, obb.Plan), options)
	require.NoError(t, err)
	for step, b := range []struct {
		images int
		angles bool
	}{{2, true}, {2, false}, {1, true}, {2, false}, {2, true}, {1, false}} {
		out, err := s.Forward([]replay.Source{replay.Float32s(noise(uint64(step), b.images*3*64*96, 1), b.images, 3, 64, 96)})
		require.NoError(t, err)
		cotangents := make([]replay.Source, len(out))
		for i, o := range out {
			if s.Plan().Outputs[i].Optional && !b.angles {
				continue
			}
			values := make([]float32, device.Elements(o.Shape()))
			require.NoError(t, o.ReadFloat32(values))
			for j := range values {
				values[j] /= 256
			}
			cotangents[i] = replay.Float32s(values, o.Shape()...)
		}
		require.NoError(t, s.Backward(cotangents))
		descend(t, s)
	}
	entries, err := fit.Snapshot()
	require.NoError(t, err)
	report := fit.Report().Stages[0]
	require.NoError(t, fit.Close())
	require.NoError(t, d.Close())
	return entries, report
}

func descend(t *testing.T, s *replay.Stage) {
	t.Helper()
	for i := range s.Plan().Parameters {
		gradient, presence := s.Gradient(i)
		if presence == replay.Absent {
			continue
		}
		n := device.Elements(gradient.Shape())
		g, w := make([]float32, n), make([]float32, n)
		require.NoError(t, gradient.ReadFloat32(g))
		require.NoError(t, s.Parameter(i).ReadFloat32(w))
		for j := range w {
			w[j] -= 1e-3 * g[j]
		}
		require.NoError(t, s.Parameter(i).WriteFloat32(w))
	}
	s.ClearGradients()
}
