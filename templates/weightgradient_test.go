package templates

import (
	"regexp"
	"strconv"
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
		"1x1 of a head":         {layerCase{inputs: 32, outputs: 15, kernel: 1, stride: 1, groups: 1}, "weight_gradient_flat"},
		"1x1 without alignment": {layerCase{inputs: 32, outputs: 51, kernel: 1, stride: 1, groups: 1}, "weight_gradient_partial"},
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

// Whatever the channels, a block fits a multiprocessor as often as the launch counts
// on, and the tile is one that the device code divides among warps: whole pieces of
// 16 x 16 weights for each, and whole steps of 16 pixels for warps that share them.
func TestWeightGradientTiles(t *testing.T) {
	shape := regexp.MustCompile(`convolution_shape<\d+, \d+, (\d), \d, \d, (\d+), (\d+)>, (\d+), (\d+), (\d+), (\d+)`)
	for _, inputs := range []int{8, 16, 40, 48, 64, 72, 80, 96, 112, 128, 136, 192, 256, 320, 384, 640} {
		for _, outputs := range []int{1, 15, 16, 24, 32, 48, 64, 80, 104, 128, 144, 256, 512} {
			for _, kernel := range [][2]int{{1, 1}, {3, 1}, {3, 2}} {
				s, l := newShelf("tiles"), layerCase{inputs: inputs, outputs: outputs, kernel: kernel[0], stride: kernel[1], groups: 1}
				s.forward(&ir.Conv2dWeightGradient{X: l.fmap(s, inputs, 8), DY: l.fmap(s, outputs, 8*l.stride), DWeight: s.master(outputs, inputs, l.kernel, l.kernel),
					Kernel: l.kernel, Stride: l.stride, Groups: 1})
				first := mustLaunches(t, s.stage)[0]
				m := shape.FindStringSubmatch(first.Kernel.Call)
				if m == nil {
					require.Contains(t, first.Kernel.Call, "weight_gradient_partial<", "%+v", l)
					continue
				}
				var n []int
				for _, text := range m[1:] {
					v, err := strconv.Atoi(text)
					require.NoError(t, err)
					n = append(n, v)
				}
				require.Equal(t, []int{first.Kernel.Threads, first.Kernel.Shared}, []int{n[3], ringOf(t, l, n[1:])}, "%+v", l)
				require.LessOrEqual(t, first.Kernel.Shared, dynamicBytes, "%+v", l)
				require.LessOrEqual(t, first.Kernel.Blocks*(first.Kernel.Shared+1<<10), multiprocessorShared, "%+v", l)
			}
		}
	}
}

// ringOf checks how the warps of a block share a tile of {BM, BN, threads, depth or
// height, stages}, and gives the bytes of its ring.
func ringOf(t *testing.T, l layerCase, n []int) int {
	t.Helper()
	bm, bn, warps, depth := n[0], n[1], n[2]/32, n[3]
	columns := bn / 16
	rows := min(bm/16, 4/columns)
	if l.kernel == 1 {
		rows = warpsOfSide(bm)
		columns = min(warpsOfSide(bn), warps/rows)
	}
	shares := warps / (rows * columns)
	require.Zero(t, bm%(16*rows), "%+v", l)
	require.Zero(t, bn%(16*columns), "%+v", l)
	if l.kernel == 3 {
		require.Zero(t, depth%shares, "%+v", l)
		return n[4] * (bytes16(((depth-1)*l.stride+3)*(15*l.stride+3), bn) + bytes16(depth*16, bm))
	}
	require.Zero(t, depth%(16*shares), "%+v", l)
	return n[4] * (bytes16(depth, bm) + bytes16(depth, bn))
}

func warpsOfSide(side int) int {
	switch {
	case side >= 128:
		return 4
	case side >= 64:
		return 2
	}
	return 1
}
