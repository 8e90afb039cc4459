package templates

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Each kind of layer gets the kernel made for it; maps that cannot be copied 16
// bytes at a time, groups and other windows get the general one.
func TestWeightGradientKernels(t *testing.T) {
	for name, c := range map[string]struct {
		layer layerCase
		want  string
	}{
		"3x3":                   {layerCase{inputs: 16, outputs: 32, kernel: 3, stride: 1, groups: 1}, "weight_gradient_halo"},
		"3x3 of stride 2":       {layerCase{inputs: 64, outputs: 128, kernel: 3, stride: 2, groups: 1}, "weight_gradient_halo"},
		"3x3 padded":            {layerCase{inputs: 21, outputs: 42, kernel: 3, stride: 1, groups: 1, padded: true}, "weight_gradient_halo"},
		"3x3 without alignment": {layerCase{inputs: 21, outputs: 42, kernel: 3, stride: 1, groups: 1}, "weight_gradient_partial"},
		"3x3 of stride 3":       {layerCase{inputs: 16, outputs: 16, kernel: 3, stride: 3, groups: 1}, "weight_gradient_partial"},
		"3x3 of groups":         {layerCase{inputs: 32, outputs: 32, kernel: 3, stride: 1, groups: 2}, "weight_gradient_partial"},
		"1x1":                   {layerCase{inputs: 96, outputs: 128, kernel: 1, stride: 1, groups: 1}, "weight_gradient_flat"},
		"1x1 of stride 2":       {layerCase{inputs: 96, outputs: 128, kernel: 1, stride: 2, groups: 1}, "weight_gradient_partial"},
		"5x5":                   {layerCase{inputs: 48, outputs: 64, kernel: 5, stride: 1, groups: 1}, "weight_gradient_partial"},
		"first layer":           {layerCase{inputs: 3, outputs: 16, kernel: 3, stride: 2, groups: 1}, "weight_gradient_narrow"},
		"few channels, padded":  {layerCase{inputs: 3, outputs: 16, kernel: 3, stride: 2, groups: 1, padded: true}, "weight_gradient_partial"},
		"depthwise":             {layerCase{inputs: 32, outputs: 32, kernel: 3, stride: 1, groups: 32}, "depthwise_weight_gradient_partial"},
	} {
		t.Run(name, func(t *testing.T) {
			s, l := newShelf("kernels"), c.layer
			s.forward(&ir.Conv2dWeightGradient{X: l.fmap(s, l.inputs, 1), DY: l.fmap(s, l.outputs, l.stride), DWeight: s.master(l.outputs, l.inputs/l.groups, l.kernel, l.kernel),
				Kernel: l.kernel, Stride: l.stride, Groups: l.groups})
			require.Equal(t, []string{c.want, "weight_gradient_reduce"}, kernelsOf(t, s.stage, ir.Training))
		})
	}
}

// A map whose pixels have gaps between rows is no matrix of pixels.
func TestProductsNeedPixelsWithoutGaps(t *testing.T) {
	s := newShelf("kernels")
	x, dy := s.fmap(32, 4), s.fmap(32, 4)
	wide := s.stage.Tensor(x)
	for _, d := range []int{0, 2} {
		wide.Strides[d] = wide.Strides[d].Mul(ir.Const(2))
	}
	s.forward(&ir.Conv2dWeightGradient{X: x, DY: dy, DWeight: s.master(32, 32, 1, 1), Kernel: 1, Stride: 1, Groups: 1})
	require.Equal(t, []string{"weight_gradient_partial", "weight_gradient_reduce"}, kernelsOf(t, s.stage, ir.Training))
}
