package host

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

func TestElementwise(t *testing.T) {
	for _, shape := range [][]int{{2, 3, 4, 5}, {2, 600}, {2, 20, 21, 17}, {7}} {
		operands := []operandSpec{{name: "a", shape: shape}, {name: "b", shape: shape}, {name: "y", shape: shape}}
		check := func(name string, accumulate bool, kernel func(r map[string]ir.Ref) ir.Kernel, f func(a, b float64) float64) {
			kernelTest{
				name: fmt.Sprintf("%v/%s/accumulate=%v", shape, name, accumulate), operands: operands, kernel: kernel,
				want: func(v values) values {
					y := make([]float64, len(v["y"]))
					for i := range y {
						y[i] = f(v["a"][i], v["b"][i])
					}
					return values{"y": plus(accumulate, v["y"], y)}
				},
			}.run(t)
		}
		check("add", false, func(r map[string]ir.Ref) ir.Kernel { return &ir.Add{A: r["a"], B: r["b"], Y: r["y"]} }, func(a, b float64) float64 { return a + b })
		check("fill", false, func(r map[string]ir.Ref) ir.Kernel { return &ir.Fill{Y: r["y"], Value: 3} }, func(a, b float64) float64 { return 3 })
		for _, accumulate := range []bool{false, true} {
			check("multiply", accumulate, func(r map[string]ir.Ref) ir.Kernel {
				return &ir.Multiply{A: r["a"], B: r["b"], Y: r["y"], Accumulate: accumulate}
			}, func(a, b float64) float64 { return a * b })
			check("scale", accumulate, func(r map[string]ir.Ref) ir.Kernel {
				return &ir.Scale{X: r["a"], Y: r["y"], Factor: -2.5, Accumulate: accumulate}
			}, func(a, b float64) float64 { return -2.5 * a })
			check("copy", accumulate, func(r map[string]ir.Ref) ir.Kernel {
				return &ir.Copy{X: r["a"], Y: r["y"], Accumulate: accumulate}
			}, func(a, b float64) float64 { return a })
		}
	}
}

func TestActivation(t *testing.T) {
	shape := []int{2, 3, 4, 5}
	operands := []operandSpec{{name: "x", shape: shape}, {name: "y", shape: shape}, {name: "dY", shape: shape}}
	for _, f := range functions {
		apply := func(x []float64) []float64 {
			y := make([]float64, len(x))
			for i, v := range x {
				y[i] = referenceActivation(f.f, f.slope, v)
			}
			return y
		}
		kernelTest{
			name: fmt.Sprintf("forward/%s", f.f), operands: operands,
			kernel: func(r map[string]ir.Ref) ir.Kernel {
				return &ir.Activate{X: r["x"], Y: r["y"], Activation: f.f, Slope: f.slope}
			},
			want: func(v values) values { return values{"y": apply(v["x"])} },
		}.run(t)
		for _, accumulate := range []bool{false, true} {
			kernelTest{
				name: fmt.Sprintf("gradient/%s/accumulate=%v", f.f, accumulate), operands: operands, tolerance: numeric,
				kernel: func(r map[string]ir.Ref) ir.Kernel {
					return &ir.ActivateGradient{DY: r["dY"], X: r["x"], DX: r["y"], Activation: f.f, Slope: f.slope, Accumulate: accumulate}
				},
				want: func(v values) values {
					return values{"y": plus(accumulate, v["y"], numericGradient(apply, v["x"], v["dY"]))}
				},
			}.run(t)
		}
	}
}

func TestExp32(t *testing.T) {
	worst := 0.0
	for x := -87.0; x <= 88; x += 1.0 / 512 {
		exact := math.Exp(float64(float32(x)))
		worst = math.Max(worst, math.Abs(float64(exp32(float32(x)))-exact)/exact)
	}
	require.Less(t, worst, 1.5e-7)
	require.True(t, math.IsNaN(float64(exp32(float32(math.NaN())))))
	require.Equal(t, exp32(88), exp32(float32(math.Inf(1))))
	require.Equal(t, exp32(-87.3), exp32(float32(math.Inf(-1))))
	require.Equal(t, float32(1), sigmoid32(100))
}

func TestChannelSum(t *testing.T) {
	for _, shape := range [][]int{{2, 5, 3, 7}, {3, 40, 31, 29}, {2, 9, 4}, {6, 5}} {
		axis := 1
		if len(shape) == 3 {
			axis = 2
		}
		c, after := shape[axis], 1
		for _, d := range shape[axis+1:] {
			after *= d
		}
		for _, accumulate := range []bool{false, true} {
			kernelTest{
				name:     fmt.Sprintf("%v/accumulate=%v", shape, accumulate),
				operands: []operandSpec{{name: "dY", shape: shape}, {name: "dBias", shape: []int{c}}},
				kernel: func(r map[string]ir.Ref) ir.Kernel {
					return &ir.ChannelSum{DY: r["dY"], DBias: r["dBias"], Accumulate: accumulate}
				},
				want: func(v values) values {
					sum := make([]float64, c)
					for i, d := range v["dY"] {
						sum[i/after%c] += d
					}
					return values{"dBias": plus(accumulate, v["dBias"], sum)}
				},
			}.run(t)
		}
	}
}
