package host

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

func TestLinearCombination(t *testing.T) {
	for _, shape := range [][]int{{2, 3, 4, 5}, {2, 600}, {7}} {
		for terms := 1; terms <= ir.MaxTerms; terms++ {
			for _, accumulate := range []bool{false, true} {
				kernelTest{
					name: fmt.Sprintf("%v/terms=%d/accumulate=%v", shape, terms, accumulate),
					operands: []operandSpec{
						{name: "x0", shape: shape}, {name: "x1", shape: shape}, {name: "x2", shape: shape}, {name: "y", shape: shape},
						{name: "f1", shape: []int{1}},
					},
					kernel: func(r map[string]ir.Ref) ir.Kernel {
						return &ir.LinearCombination{
							Xs: []ir.Ref{r["x0"], r["x1"], r["x2"]}[:terms], Factors: []ir.Ref{0, r["f1"], 0}[:terms],
							Coefficients: []float64{-2, 0.5, 3}[:terms], Y: r["y"], Accumulate: accumulate,
						}
					},
					want: func(v values) values {
						y := make([]float64, len(v["y"]))
						for i := range y {
							for k, factor := range []float64{-2, 0.5 * v["f1"][0], 3}[:terms] {
								y[i] += factor * v[fmt.Sprint("x", k)][i]
							}
						}
						return values{"y": plus(accumulate, v["y"], y)}
					},
				}.run(t)
			}
		}
	}
}

// A factor is read at every launch, replayed or not (field case PO-01), and a
// zero one takes its term out, NaN and all.
func TestFactorsAreReadWhenTheyAreUsed(t *testing.T) {
	p := newPlan()
	x, z := p.float("x", dense, 3), p.float("z", dense, 3)
	rate, gain := p.float("rate", dense, 1), p.float("gain", dense, 1)
	p.op(&ir.LinearCombination{Xs: []ir.Ref{x, z}, Factors: []ir.Ref{rate, gain}, Coefficients: []float64{1, 1}, Y: p.float("y", dense, 3)})
	b := p.bind(t, device.FP32)
	defer b.close()
	b.write("x", []float64{1, 2, 3})
	b.write("z", []float64{10, math.NaN(), 30})
	r, err := b.binding.Record(forward)
	require.NoError(t, err)
	for _, step := range []struct {
		rate, gain float64
		want       []float64
	}{{0.5, 0, []float64{0.5, 1, 1.5}}, {2, 0, []float64{2, 4, 6}}, {0, 0, []float64{0, 0, 0}}} {
		b.write("rate", []float64{step.rate})
		b.write("gain", []float64{step.gain})
		require.NoError(t, r.Replay())
		require.Equal(t, step.want, b.read("y"))
		b.run()
		require.Equal(t, step.want, b.read("y"))
	}
	b.write("gain", []float64{1})
	require.NoError(t, r.Replay())
	require.True(t, math.IsNaN(b.read("y")[1]))
	require.NoError(t, r.Close())
}

func TestNormalizeMatrices(t *testing.T) {
	for _, shape := range [][]int{{2, 3, 4, 5}, {3, 40, 33}, {6, 1}} {
		kernelTest{
			name:     fmt.Sprint(shape),
			operands: []operandSpec{{name: "x", shape: shape}, {name: "y", shape: shape}},
			kernel: func(r map[string]ir.Ref) ir.Kernel {
				return &ir.NormalizeMatrices{X: r["x"], Y: r["y"], Epsilon: 1e-7}
			},
			prepare: func(v values) { clear(v["x"][:shape[len(shape)-1]*shape[len(shape)-2]]) }, // the first matrix is zero
			want: func(v values) values {
				y := make([]float64, len(v["y"]))
				size := shape[len(shape)-1] * shape[len(shape)-2]
				for first := 0; first < len(y); first += size {
					norm := 0.0
					for _, x := range v["x"][first:][:size] {
						norm += x * x
					}
					for i := range size {
						y[first+i] = v["x"][first+i] / (math.Sqrt(norm) + 1e-7)
					}
				}
				return values{"y": y}
			},
		}.run(t)
	}
}

// The product of a matrix with its own transpose is computed above the diagonal
// and mirrored, also where it is added.
func TestMatMulOfAMatrixWithItsTranspose(t *testing.T) {
	for _, size := range [][2]int{{5, 7}, {70, 9}, {150, 130}} {
		rows, inner := size[0], size[1]
		for variant := range 4 {
			transA, accumulate := variant&1 != 0, variant&2 != 0
			shape := []int{3, rows, inner}
			if transA {
				shape = []int{3, inner, rows}
			}
			kernelTest{
				name:      fmt.Sprintf("%dx%d/transposeA=%v/accumulate=%v", rows, inner, transA, accumulate),
				operands:  []operandSpec{{name: "a", shape: shape}, {name: "y", shape: []int{3, rows, rows}}},
				tolerance: map[device.Precision]float64{device.FP32: 3e-5, device.Float64: 1e-11},
				kernel: func(r map[string]ir.Ref) ir.Kernel {
					return &ir.MatMul{A: r["a"], B: r["a"], Y: r["y"], TransposeA: transA, TransposeB: !transA, Alpha: 0.5, Accumulate: accumulate}
				},
				want: func(v values) values {
					y := referenceMatMul(3, rows, inner, rows, transA, !transA, 0.5, v["a"], v["a"])
					return values{"y": plus(accumulate, v["y"], y)}
				},
			}.run(t)
		}
	}
}
