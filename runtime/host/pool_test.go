package host

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

func TestMaxPool(t *testing.T) {
	for _, p := range []struct {
		x                       shape4
		kernel, stride, padding int
	}{
		{shape4{2, 5, 6, 7}, 5, 1, 2},
		{shape4{1, 3, 8, 6}, 2, 2, 0},
		{shape4{2, 2, 7, 9}, 3, 2, 1},
	} {
		y := shape4{p.x.n, p.x.c, (p.x.h+2*p.padding-p.kernel)/p.stride + 1, (p.x.w+2*p.padding-p.kernel)/p.stride + 1}
		name := fmt.Sprintf("%v/k%ds%dp%d", p.x.list(), p.kernel, p.stride, p.padding)
		operands := []operandSpec{
			{name: "x", shape: p.x.list()}, {name: "y", shape: y.list()}, {name: "index", elem: ir.Index, shape: y.list()}, {name: "dX", shape: p.x.list()},
		}
		coarse := func(v values) {
			for i := range v["x"] {
				v["x"][i] = math.Round(2 * v["x"][i]) // equal elements: the first must win
			}
		}
		kernelTest{
			name: "forward/" + name, operands: operands, prepare: coarse,
			kernel: func(r map[string]ir.Ref) ir.Kernel {
				return &ir.MaxPool{X: r["x"], Y: r["y"], Index: r["index"], Kernel: p.kernel, Stride: p.stride, Padding: p.padding}
			},
			want: func(v values) values {
				largest, index := referenceMaxPool(p.x, y, p.kernel, p.stride, p.padding, v["x"])
				return values{"y": largest, "index": index}
			},
		}.run(t)
		for _, accumulate := range []bool{false, true} {
			kernelTest{
				name: fmt.Sprintf("gradient/%s/accumulate=%v", name, accumulate), operands: operands, tolerance: numeric,
				prepare: func(v values) {
					_, v["index"] = referenceMaxPool(p.x, y, p.kernel, p.stride, p.padding, v["x"])
				},
				kernel: func(r map[string]ir.Ref) ir.Kernel {
					return &ir.MaxPoolGradient{DY: r["y"], Index: r["index"], DX: r["dX"], Kernel: p.kernel, Stride: p.stride, Padding: p.padding, Accumulate: accumulate}
				},
				want: func(v values) values {
					dX := numericGradient(func(x []float64) []float64 {
						largest, _ := referenceMaxPool(p.x, y, p.kernel, p.stride, p.padding, x)
						return largest
					}, v["x"], v["y"])
					return values{"dX": plus(accumulate, v["dX"], dX)}
				},
			}.run(t)
		}
	}
}

func TestAveragePool(t *testing.T) {
	x := shape4{2, 5, 3, 4}
	operands := []operandSpec{{name: "x", shape: x.list()}, {name: "y", shape: []int{x.n, x.c}}}
	kernelTest{
		name: "forward", operands: operands,
		kernel: func(r map[string]ir.Ref) ir.Kernel { return &ir.AveragePool{X: r["x"], Y: r["y"]} },
		want:   func(v values) values { return values{"y": referenceAverage(x, v["x"])} },
	}.run(t)
	for _, accumulate := range []bool{false, true} {
		kernelTest{
			name: fmt.Sprintf("gradient/accumulate=%v", accumulate), operands: operands, tolerance: numeric,
			kernel: func(r map[string]ir.Ref) ir.Kernel {
				return &ir.AveragePoolGradient{DY: r["y"], DX: r["x"], Accumulate: accumulate}
			},
			want: func(v values) values {
				dX := numericGradient(func(x0 []float64) []float64 { return referenceAverage(x, x0) }, v["x"], v["y"])
				return values{"x": plus(accumulate, v["x"], dX)}
			},
		}.run(t)
	}
}

func TestUpsample(t *testing.T) {
	for _, s := range []struct{ x, y shape4 }{
		{shape4{2, 5, 3, 4}, shape4{2, 5, 6, 8}},
		{shape4{1, 3, 4, 3}, shape4{1, 3, 7, 10}}, // to an explicit size
		{shape4{1, 2, 5, 4}, shape4{1, 2, 3, 4}},  // fewer pixels than the source
	} {
		operands := []operandSpec{{name: "x", shape: s.x.list()}, {name: "y", shape: s.y.list()}}
		name := fmt.Sprintf("%v-%v", s.x.list(), s.y.list())
		kernelTest{
			name: "forward/" + name, operands: operands,
			kernel: func(r map[string]ir.Ref) ir.Kernel { return &ir.Upsample{X: r["x"], Y: r["y"]} },
			want:   func(v values) values { return values{"y": referenceUpsample(s.x, s.y, v["x"])} },
		}.run(t)
		for _, accumulate := range []bool{false, true} {
			kernelTest{
				name: fmt.Sprintf("gradient/%s/accumulate=%v", name, accumulate), operands: operands, tolerance: numeric,
				kernel: func(r map[string]ir.Ref) ir.Kernel {
					return &ir.UpsampleGradient{DY: r["y"], DX: r["x"], Accumulate: accumulate}
				},
				want: func(v values) values {
					dX := numericGradient(func(x []float64) []float64 { return referenceUpsample(s.x, s.y, x) }, v["x"], v["y"])
					return values{"x": plus(accumulate, v["x"], dX)}
				},
			}.run(t)
		}
	}
}

// Field case PO-10: the gradient of nearest x2 for the cotangent 1..16 is
// 14, 22, 46, 54, with the same bits in 1000 runs; and for random cotangents,
// where the order of the additions shows, too.
func TestUpsampleGradientRepeats(t *testing.T) {
	p := newPlan()
	p.op(&ir.UpsampleGradient{DY: p.float("dY", last, 1, 1, 4, 4), DX: p.float("dX", last, 1, 1, 2, 2)})
	p.op(&ir.UpsampleGradient{DY: p.float("wideDY", last, 2, 16, 24, 24), DX: p.float("wideDX", last, 2, 16, 4, 4)})
	b := p.bind(t, device.FP32)
	cotangent := make([]float64, 16)
	for i := range cotangent {
		cotangent[i] = float64(i + 1)
	}
	b.write("dY", cotangent)
	b.write("wideDY", random(1, 2*16*24*24))
	var first []float64
	for run := range 1000 {
		b.run()
		require.Equal(t, []float64{14, 22, 46, 54}, b.read("dX"))
		if run == 0 {
			first = b.read("wideDX")
		}
		require.Equal(t, first, b.read("wideDX"))
	}
	b.close()
}
