package host

import (
	"fmt"
	"testing"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

var convShapes = []convShape{
	{shape4{2, 3, 7, 9}, 5, 3, 1, 1},     // odd sizes and channels
	{shape4{1, 8, 6, 10}, 12, 3, 2, 4},   // groups, stride 2
	{shape4{1, 4, 7, 5}, 3, 3, 2, 1},     // stride 2 of odd maps
	{shape4{2, 5, 3, 70}, 5, 3, 1, 5},    // depthwise, more than one piece of a row
	{shape4{1, 6, 8, 6}, 6, 3, 2, 6},     // depthwise, stride 2
	{shape4{1, 70, 3, 4}, 67, 1, 1, 1},   // more channels than one block
	{shape4{1, 2, 6, 7}, 4, 5, 1, 2},     // wide kernel
	{shape4{1, 4, 6, 8}, 3, 1, 2, 1},     // pixels that no tap meets
	{shape4{1, 2, 64, 70}, 3, 3, 1, 1},   // weight gradient in splits
	{shape4{2, 3, 1, 1}, 4, 3, 1, 1},     // one pixel
	{shape4{1, 128, 2, 2}, 130, 3, 1, 1}, // three blocks of channels
}

func (s convShape) String() string {
	return fmt.Sprintf("%v-%d/k%ds%dg%d", s.x.list(), s.cout, s.kernel, s.stride, s.groups)
}

func TestConvolution(t *testing.T) {
	for _, s := range convShapes {
		for _, bias := range []bool{false, true} {
			kernelTest{
				name: fmt.Sprintf("%v/bias=%v", s, bias),
				operands: []operandSpec{
					{name: "x", shape: s.x.list()}, {name: "w", shape: s.weight().list()},
					{name: "bias", shape: []int{s.cout}}, {name: "y", shape: s.y().list()},
				},
				kernel: func(r map[string]ir.Ref) ir.Kernel {
					k := &ir.Conv2d{X: r["x"], Weight: r["w"], Y: r["y"], Kernel: s.kernel, Stride: s.stride, Groups: s.groups}
					if bias {
						k.Bias = r["bias"]
					}
					return k
				},
				want: func(v values) values {
					y := make([]float64, s.y().size())
					for i := range y {
						if bias {
							y[i] = v["bias"][i/(s.y().h*s.y().w)%s.cout]
						}
					}
					s.products(func(o, i, w int) { y[o] += v["x"][i] * v["w"][w] })
					return values{"y": y}
				},
			}.run(t)
		}
	}
}

func TestConvolutionGradients(t *testing.T) {
	for _, s := range convShapes {
		for _, accumulate := range []bool{false, true} {
			operands := []operandSpec{
				{name: "x", shape: s.x.list()}, {name: "w", shape: s.weight().list()}, {name: "y", shape: s.y().list()},
			}
			kernelTest{
				name:     fmt.Sprintf("input/%v/accumulate=%v", s, accumulate),
				operands: operands,
				kernel: func(r map[string]ir.Ref) ir.Kernel {
					return &ir.Conv2dInputGradient{DX: r["x"], Weight: r["w"], DY: r["y"], Kernel: s.kernel, Stride: s.stride, Groups: s.groups, Accumulate: accumulate}
				},
				want: func(v values) values {
					dX := make([]float64, s.x.size())
					s.products(func(o, i, w int) { dX[i] += v["y"][o] * v["w"][w] })
					return values{"x": plus(accumulate, v["x"], dX)}
				},
			}.run(t)
			kernelTest{
				name:     fmt.Sprintf("weight/%v/accumulate=%v", s, accumulate),
				operands: operands,
				kernel: func(r map[string]ir.Ref) ir.Kernel {
					return &ir.Conv2dWeightGradient{X: r["x"], DWeight: r["w"], DY: r["y"], Kernel: s.kernel, Stride: s.stride, Groups: s.groups, Accumulate: accumulate}
				},
				want: func(v values) values {
					dW := make([]float64, s.weight().size())
					s.products(func(o, i, w int) { dW[w] += v["y"][o] * v["x"][i] })
					return values{"w": plus(accumulate, v["w"], dW)}
				},
				tolerance: map[device.Precision]float64{device.FP32: 1e-5},
			}.run(t)
		}
	}
}

// The gradients by formula above share their loop with the reference of the
// forward pass; here they are differences of it.
func TestConvolutionGradientsAreDerivatives(t *testing.T) {
	s := convShape{shape4{2, 4, 5, 6}, 6, 3, 2, 2}
	apply := func(x, w []float64) []float64 {
		y := make([]float64, s.y().size())
		s.products(func(o, i, k int) { y[o] += x[i] * w[k] })
		return y
	}
	operands := []operandSpec{
		{name: "x", shape: s.x.list()}, {name: "w", shape: s.weight().list()}, {name: "dY", shape: s.y().list()},
		{name: "dX", shape: s.x.list()}, {name: "dW", shape: s.weight().list()},
	}
	kernelTest{
		name: "input", operands: operands, tolerance: numeric,
		kernel: func(r map[string]ir.Ref) ir.Kernel {
			return &ir.Conv2dInputGradient{DX: r["dX"], Weight: r["w"], DY: r["dY"], Kernel: 3, Stride: 2, Groups: 2}
		},
		want: func(v values) values {
			return values{"dX": numericGradient(func(x []float64) []float64 { return apply(x, v["w"]) }, v["x"], v["dY"])}
		},
	}.run(t)
	kernelTest{
		name: "weight", operands: operands, tolerance: numeric,
		kernel: func(r map[string]ir.Ref) ir.Kernel {
			return &ir.Conv2dWeightGradient{X: r["x"], DWeight: r["dW"], DY: r["dY"], Kernel: 3, Stride: 2, Groups: 2}
		},
		want: func(v values) values {
			return values{"dW": numericGradient(func(w []float64) []float64 { return apply(v["x"], w) }, v["w"], v["dY"])}
		},
	}.run(t)
}
