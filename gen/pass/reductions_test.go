package pass

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// backwardOf is a stage with one backward program: an input gradient, what stands
// between, and the sums of the input gradient.
func backwardOf(between func(s *ir.Stage, dx, x ir.Ref) []ir.Kernel) *ir.Stage {
	s := &ir.Stage{Multiple: ir.Multiple{Height: 1, Width: 1}}
	dy, dx, x := mapIn(s, ir.Arena), mapIn(s, ir.Arena), mapIn(s, ir.Arena)
	kernels := []ir.Kernel{&ir.Conv2dInputGradient{DY: dy, DX: dx}}
	kernels = append(kernels, between(s, dx, x)...)
	kernels = append(kernels, &ir.NormalizeReduce{DY: dx, X: x, DScale: mapIn(s, ir.ParameterGradient)})
	var ops []ir.Op
	for _, k := range kernels {
		ops = append(ops, ir.Op{Name: k.Kind(), Do: k})
	}
	s.Backward = []ir.Backward{{Ops: ops}}
	return s
}

// A reduction follows the input gradient that it sums, unless something in between
// changes what it reads or needs what was there before.
func TestReductionsFollowTheirMakers(t *testing.T) {
	for name, c := range map[string]struct {
		between func(s *ir.Stage, dx, x ir.Ref) []ir.Kernel
		want    []string
	}{
		"weight gradient": {func(s *ir.Stage, _, _ ir.Ref) []ir.Kernel {
			return []ir.Kernel{&ir.Conv2dWeightGradient{X: mapIn(s, ir.Arena), DY: 1, DWeight: mapIn(s, ir.ParameterGradient)}, &ir.Copy{X: mapIn(s, ir.Arena), Y: mapIn(s, ir.Arena)}}
		}, []string{"conv2d_input_gradient", "normalize_reduce", "conv2d_weight_gradient", "copy"}},
		"accumulation": {func(s *ir.Stage, dx, _ ir.Ref) []ir.Kernel {
			return []ir.Kernel{&ir.Copy{X: mapIn(s, ir.Arena), Y: dx, Accumulate: true}}
		}, []string{"conv2d_input_gradient", "copy", "normalize_reduce"}},
		"second gradient": {func(s *ir.Stage, dx, _ ir.Ref) []ir.Kernel {
			return []ir.Kernel{&ir.Conv2dInputGradient{DY: mapIn(s, ir.Arena), DX: dx, Accumulate: true}, &ir.Copy{X: 1, Y: mapIn(s, ir.Arena)}}
		}, []string{"conv2d_input_gradient", "conv2d_input_gradient", "normalize_reduce", "copy"}},
		"input": {func(s *ir.Stage, _, x ir.Ref) []ir.Kernel {
			return []ir.Kernel{&ir.Copy{X: mapIn(s, ir.Arena), Y: x}}
		}, []string{"conv2d_input_gradient", "copy", "normalize_reduce"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := backwardOf(c.between)
			require.NoError(t, reductions(s))
			var kinds []string
			for _, op := range s.Backward[0].Ops {
				kinds = append(kinds, op.Do.Kind())
			}
			require.Equal(t, c.want, kinds)
		})
	}
}
