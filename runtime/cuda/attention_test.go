//go:build cuda

package cuda_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/rounding"
	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/device"
)

// attentionCases have one position, a block but one, a block and one, several
// blocks, and more than the ring of a kernel holds, which there is in 16 bits.
var attentionCases = []struct {
	sizes      ir.Sizes
	precisions []device.Precision
}{
	{ir.Sizes{Batch: 1, Height: 1, Width: 1}, precision}, {ir.Sizes{Batch: 3, Height: 7, Width: 9}, precision},
	{ir.Sizes{Batch: 2, Height: 5, Width: 13}, precision}, {ir.Sizes{Batch: 1, Height: 10, Width: 16}, precision},
	{ir.Sizes{Batch: 1, Height: 14, Width: 28}, []device.Precision{device.BF16}},
}

// Attention in all its forms agrees with the host in float64 within what rounding
// explains, and replayed steps equal native ones byte for byte.
func TestAttention(t *testing.T) {
	attention := network{"small/attention", small.AttentionPlan}
	for _, c := range attentionCases {
		sizes := c.sizes
		step := hostStep(t, attention, sizes)
		exact, err := step.Exact()
		require.NoError(t, err)
		for _, p := range c.precisions {
			t.Run(fmt.Sprintf("%s/%s", p, sizes), func(t *testing.T) {
				o := openNetwork(t, attention, p, sizes)
				o.run()
				got, err := rounding.Read(o.stage, o.binding)
				require.NoError(t, err)
				bounds, err := step.Bounds(exact, p)
				require.NoError(t, err)
				worst, share := bounds.Worst(exact, got)
				t.Logf("%s takes %.2f of its bound, more than any other", worst, share)
				require.LessOrEqual(t, share, 1.0, worst)
				native := o.state()
				recordings := o.record()
				for _, r := range recordings {
					require.NoError(t, r.Replay())
				}
				require.Empty(t, different(native, o.state()))
				o.close(recordings...)
			})
		}
	}
}

// A program for some of the outputs gives the gradients of the program for all, with
// cotangents of zero for the others.
func TestAttentionPresence(t *testing.T) {
	sizes := ir.Sizes{Batch: 2, Height: 5, Width: 13}
	for _, p := range precision {
		t.Run(string(p), func(t *testing.T) {
			o := openNetwork(t, network{"small/attention", small.AttentionPlan}, p, sizes)
			require.NoError(t, o.binding.Run(forward))
			gradients := func(program int, names []string) (out [][]float64) {
				require.NoError(t, o.binding.Run(device.BackwardOf(program)))
				for i, in := range o.stage.Plan().Inputs {
					if g := o.binding.InputGradient(i); slices.Contains(names, in.Name) {
						values := make([]float64, device.Elements(g.Shape()))
						require.NoError(t, g.ReadFloat64(values))
						out = append(out, values)
					}
				}
				return out
			}
			for i, b := range o.stage.Plan().Backward {
				o.inputs(1)
				partial := gradients(i, b.Inputs)
				require.NotEmpty(t, partial)
				for j, out := range o.stage.Plan().Outputs {
					if c := o.binding.Cotangent(j); !slices.Contains(b.Present, out.Name) {
						require.NoError(t, c.WriteFloat32(make([]float32, device.Elements(c.Shape()))))
					}
				}
				require.Equal(t, gradients(0, b.Inputs), partial, "%v", b.Present)
			}
			o.close()
		})
	}
}
