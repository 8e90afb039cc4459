package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

func constant(v float32, shape ...int) Source {
	return Float32s(values(v, device.Elements(shape)), shape...)
}

// bothWays runs a test on the host natively and replayed.
func bothWays(t *testing.T, test func(t *testing.T, wish StageOptions)) {
	t.Run("native", func(t *testing.T) { test(t, StageOptions{}) })
	t.Run("replay", func(t *testing.T) { test(t, capture) })
}

// Field case SE-01: after the step that records, every buffer equals one native
// step; field case SE-09: junk in static memory never reaches the statistics.
func TestStatisticsMoveOnce(t *testing.T) {
	bothWays(t, func(t *testing.T, wish StageOptions) {
		plan := buildPlan(t, "network", func(b *stage.Builder) {
			x := b.Input("x", stage.Shape{stage.Batch, 1, stage.Height, stage.Width})
			b.Output("y", b.BatchNorm(x, stage.Norm{Momentum: 0.03}))
		})
		r := newHostRig(t, host.Options{}, Settings{}, wish, plan)
		_, err := r.stages[0].Forward([]Source{constant(2, 2, 1, 2, 2)})
		require.NoError(t, err)
		require.Equal(t, []float32{0.06}, r.state("running_mean").Float32)
		require.Equal(t, []int64{1}, r.state("num_batches_tracked").Int64)
		if wish.Capture {
			require.Equal(t, 1, r.report(0).Recorded)
		}
		for i := range 20 { // field case SG-10
			_, err = r.stages[0].Evaluate([]Source{constant(9, 3, 1, 2, 2)})
			require.NoError(t, err)
			_, err = r.stages[0].Forward([]Source{constant(2, 2, 1, 2, 2)})
			require.NoError(t, err)
			require.Equal(t, []int64{int64(i + 2)}, r.state("num_batches_tracked").Int64)
		}
		r.close()
	})
}

// Field case SE-03: cumulative statistics keep the fit native, with the reason.
func TestCumulativeStatisticsAreNative(t *testing.T) {
	plan := buildPlan(t, "network", func(b *stage.Builder) {
		x := b.Input("x", stage.Shape{stage.Batch, 1, stage.Height, stage.Width})
		b.Output("y", b.BatchNorm(x, stage.Norm{Cumulative: true}))
	})
	r := newHostRig(t, host.Options{}, Settings{}, capture, plan)
	for _, step := range []struct{ x, mean float32 }{{1, 1}, {3, 2}} {
		_, err := r.stages[0].Forward([]Source{constant(step.x, 2, 1, 2, 2)})
		require.NoError(t, err)
		require.Equal(t, []float32{step.mean}, r.state("running_mean").Float32)
	}
	report := r.report(0)
	require.Zero(t, report.Recorded)
	require.Len(t, report.Reasons, 1)
	require.Contains(t, report.Reasons[0].Text, "stage cannot be recorded: batch_norm averages its statistics over all batches")
	r.close()
	require.Len(t, r.warnings, 1)
}

// Field cases SE-04 and SE-05: masks and generator states of two stages equal
// the native ones at every step, and no two masks are alike.
func TestGeneratorsAdvanceAsNatively(t *testing.T) {
	run := func(wish StageOptions) (masks [][]float32, states [][]int64) {
		scoped := func(scope string) func(*stage.Builder) {
			return func(b *stage.Builder) {
				x := b.Input("x", stage.Shape{stage.Batch, 16})
				b.Output("y", b.Scope(scope).Dropout(x, 0.5))
			}
		}
		r := newHostRig(t, host.Options{}, Settings{Seed: 7}, wish, buildPlan(t, "a", scoped("a")), buildPlan(t, "b", scoped("b")))
		for range 4 {
			for i, name := range []string{"a.state", "b.state"} {
				out, err := r.stages[i].Forward([]Source{constant(1, 1, 16)})
				require.NoError(t, err)
				masks = append(masks, read(t, out[0]))
				states = append(states, r.state(name).Int64)
			}
		}
		if wish.Capture {
			require.Equal(t, 4, r.report(0).Replayed)
			require.Equal(t, 4, r.report(1).Replayed)
		}
		r.close()
		return masks, states
	}
	masks, states := run(StageOptions{})
	replayed, replayedStates := run(capture)
	require.Equal(t, masks, replayed)
	require.Equal(t, states, replayedStates)
	for i, m := range masks {
		require.NotContains(t, masks[:i], m)
		require.EqualValues(t, 16*(i/2+1), states[i][1], "sixteen draws a step, none for recording")
	}
}

// Field cases GR-01 and GR-02 with the optimizer: an absent gradient moves
// nothing, a zero one decays weight and momentum.
func TestAbsentAndZeroMoveWeightsAsNatively(t *testing.T) {
	for _, c := range []struct {
		name             string
		b                Source
		weight, momentum float32
	}{
		{"absent", Source{}, 1, 0.5},
		{"zero", constant(0, 1, 1, 2, 2), 0.954, 0.46},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, wish StageOptions) {
				plan := buildPlan(t, "network", func(b *stage.Builder) {
					x := b.Input("x", stage.Shape{stage.Batch, 1, stage.Height, stage.Width})
					b.Output("a", b.Scope("a").Conv2d(x, stage.Conv{Out: 1}))
					b.Output("b", b.Scope("b").Conv2d(x, stage.Conv{Out: 1}), stage.Optional())
				})
				r := newHostRig(t, host.Options{}, Settings{}, wish, plan)
				s := r.stages[0]
				for i := range plan.Parameters {
					require.NoError(t, s.Parameter(i).WriteFloat32([]float32{1}))
					r.momentum[plan.Parameters[i].Name] = []float32{0.5}
				}
				_, err := s.Forward([]Source{constant(1, 1, 1, 2, 2)})
				require.NoError(t, err)
				require.NoError(t, s.Backward([]Source{constant(1, 1, 1, 2, 2), c.b}))
				a, presence := s.Gradient(0)
				require.Equal(t, Present, presence)
				require.Equal(t, []float32{4}, read(t, a))
				r.sgd(0.1, 0.9, 0.01)
				require.InDelta(t, c.weight, r.state("b.weight").Float32[0], 1e-7)
				require.InDelta(t, c.momentum, r.momentum["b.weight"][0], 1e-7)
				r.close()
			})
		})
	}
}

// Field case SG-03: other layouts of an input give equal results: strides
// (128, 1, 32, 8) of a 2x8x4x4 map, and a view that starts one element on.
func TestLayoutsOfInputs(t *testing.T) {
	plan := buildPlan(t, "network", func(b *stage.Builder) {
		x := b.Input("x", stage.Shape{stage.Batch, 8, stage.Height, stage.Width})
		b.Output("y", b.Conv2d(x, stage.Conv{Out: 4, Kernel: 3}))
	})
	r := newHostRig(t, host.Options{}, Settings{}, capture, plan)
	rows := noise(3, 256)
	last := make([]float32, 0, 257)
	for n := range 2 {
		for h := range 4 {
			for w := range 4 {
				for c := range 8 {
					last = append(last, rows[((n*8+c)*4+h)*4+w])
				}
			}
		}
	}
	var results [][]float32
	for _, in := range []Source{
		Float32s(rows, 2, 8, 4, 4),
		Float32s(last, 2, 8, 4, 4).WithStrides(128, 1, 32, 8),
		Float32s(append([]float32{99}, rows...)[1:], 2, 8, 4, 4),
	} {
		out, err := r.stages[0].Forward([]Source{in})
		require.NoError(t, err)
		results = append(results, read(t, out[0]))
	}
	require.Equal(t, results[0], results[1])
	require.Equal(t, results[0], results[2])
	require.Equal(t, map[string]int{"G4 other layout of input x": 1}, reasons(r.report(0)))
	r.close()
}

// Pixels become code/255 (field case of the loader: bytes, not floats, travel).
func TestPixels(t *testing.T) {
	plan := buildPlan(t, "network", func(b *stage.Builder) {
		x := b.Input("x", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
		b.Output("y", b.Scale(x, 2))
	})
	r := newHostRig(t, host.Options{}, Settings{}, capture, plan)
	out, err := r.stages[0].Forward([]Source{Images([]uint8{0, 51, 255}, 1, 1, 1)})
	require.NoError(t, err)
	require.Equal(t, []float32{0, 2 * float32(51) / 255, 2}, read(t, out[0]))
	r.close()
}

// The gradient of an input chains two stages as one network.
func TestStagesChain(t *testing.T) {
	bothWays(t, func(t *testing.T, wish StageOptions) {
		trunk := buildPlan(t, "trunk", func(b *stage.Builder) {
			x := b.Input("x", stage.Shape{stage.Batch, 2, stage.Height, stage.Width})
			b.Output("feature", b.Scope("trunk").Conv2d(x, stage.Conv{Out: 4, Kernel: 3}))
		})
		head := buildPlan(t, "head", func(b *stage.Builder) {
			x := b.Input("feature", stage.Shape{stage.Batch, 4, stage.Height, stage.Width}, stage.Differentiable())
			b.Output("y", b.Scope("head").Conv2d(x, stage.Conv{Out: 3, Kernel: 3}))
		})
		both := buildPlan(t, "both", func(b *stage.Builder) {
			x := b.Input("x", stage.Shape{stage.Batch, 2, stage.Height, stage.Width})
			x = b.Scope("trunk").Conv2d(x, stage.Conv{Out: 4, Kernel: 3})
			b.Output("y", b.Scope("head").Conv2d(x, stage.Conv{Out: 3, Kernel: 3}))
		})
		in := Float32s(noise(1, 2*2*16), 2, 2, 4, 4)
		whole := newHostRig(t, host.Options{}, Settings{}, wish, both)
		want, err := whole.stages[0].Forward([]Source{in})
		require.NoError(t, err)
		require.NoError(t, whole.stages[0].Backward([]Source{FromTensor(want[0])}))

		parts := newHostRig(t, host.Options{}, Settings{}, wish, trunk, head)
		features, err := parts.stages[0].Forward([]Source{in})
		require.NoError(t, err)
		got, err := parts.stages[1].Forward([]Source{FromTensor(features[0])})
		require.NoError(t, err)
		require.Equal(t, read(t, want[0]), read(t, got[0]))
		_, presence := parts.stages[1].InputGradient(0)
		require.Equal(t, Absent, presence)
		require.NoError(t, parts.stages[1].Backward([]Source{FromTensor(got[0])}))
		back, presence := parts.stages[1].InputGradient(0)
		require.Equal(t, Present, presence)
		require.NoError(t, parts.stages[0].Backward([]Source{FromTensor(back)}))
		for i := range 2 {
			g, _ := whole.stages[0].Gradient(i)
			part, _ := parts.stages[i].Gradient(0)
			require.Equal(t, read(t, g), read(t, part))
		}
		whole.close()
		parts.close()
	})
}
