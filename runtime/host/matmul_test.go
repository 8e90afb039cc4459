package host

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// referenceMatMul is alpha * op(a) op(b) for a batch of matrices.
func referenceMatMul(batch, rows, inner, columns int, transA, transB bool, alpha float64, a, b []float64) []float64 {
	y := make([]float64, batch*rows*columns)
	for n := range batch {
		for i := range rows {
			for j := range columns {
				for k := range inner {
					l, r := n*rows*inner+i*inner+k, n*inner*columns+k*columns+j
					if transA {
						l = n*rows*inner + k*rows + i
					}
					if transB {
						r = n*inner*columns + j*inner + k
					}
					y[(n*rows+i)*columns+j] += alpha * a[l] * b[r]
				}
			}
		}
	}
	return y
}

func swapped(swap bool, rows, columns int) []int {
	if swap {
		rows, columns = columns, rows
	}
	return []int{2, 3, rows, columns}
}

func TestMatMul(t *testing.T) {
	const rows, inner, columns = 5, 7, 70
	for variant := range 16 {
		transA, transB, bias, accumulate := variant&1 != 0, variant&2 != 0, variant&4 != 0, variant&8 != 0
		kernelTest{
			name: fmt.Sprintf("transposeA=%v/transposeB=%v/bias=%v/accumulate=%v", transA, transB, bias, accumulate),
			operands: []operandSpec{
				{name: "a", shape: swapped(transA, rows, inner)}, {name: "b", shape: swapped(transB, inner, columns)},
				{name: "bias", shape: []int{columns}}, {name: "y", shape: []int{2, 3, rows, columns}},
			},
			kernel: func(r map[string]ir.Ref) ir.Kernel {
				k := &ir.MatMul{A: r["a"], B: r["b"], Y: r["y"], TransposeA: transA, TransposeB: transB, Alpha: 0.5, Accumulate: accumulate}
				if bias {
					k.Bias = r["bias"]
				}
				return k
			},
			want: func(v values) values {
				y := referenceMatMul(6, rows, inner, columns, transA, transB, 0.5, v["a"], v["b"])
				for i := range y {
					if bias {
						y[i] += v["bias"][i%columns]
					}
				}
				return values{"y": plus(accumulate, v["y"], y)}
			},
		}.run(t)
	}
}

// Attention takes its matrices as views of one channels-last map: queries,
// keys and values are ranges of channels of every head.
func TestMatMulOfAttentionViews(t *testing.T) {
	const n, heads, key, value, pixels = 2, 2, 3, 6, 67
	const head = 2*key + value
	const channels = heads * head
	p := newPlan()
	size := n * pixels * channels
	id := p.stage.AddStorage(ir.Storage{Name: "qkv", Space: ir.Input, Elem: ir.Activation, Size: ir.Const(size)})
	part := func(name string, offset, rows int) ir.Ref {
		ref := p.stage.AddTensor(ir.Tensor{Name: name, Elem: ir.Activation, Storage: id, Offset: ir.Const(offset),
			Shape: dims([]int{n, heads, rows, pixels}), Strides: dims([]int{pixels * channels, head, 1, channels})})
		p.stage.Inputs = append(p.stage.Inputs, ir.Port{Name: name, Tensor: ref})
		return ref
	}
	q, k, v := part("q", 0, key), part("k", key, key), part("v", 2*key, value)
	scores := p.float("scores", dense, n, heads, pixels, pixels)
	out := p.view("out", ir.Activation, 0, []int{n, heads, value, pixels}, []int{pixels * heads * value, value, 1, heads * value}, n*pixels*heads*value)
	p.op(&ir.MatMul{A: q, B: k, Y: scores, TransposeA: true, Alpha: 0.25})
	p.op(&ir.MatMul{A: v, B: scores, Y: out, TransposeB: true, Alpha: 1})
	b := p.bind(t, device.Float64)
	for i, name := range []string{"q", "k", "v"} {
		b.write(name, random(uint64(i), device.Elements(b.tensor(name).Shape())))
	}
	b.run()
	wantScores := referenceMatMul(n*heads, pixels, key, pixels, true, false, 0.25, b.read("q"), b.read("k"))
	requireClose(t, wantScores, b.read("scores"), 1e-12, "scores")
	requireClose(t, referenceMatMul(n*heads, value, pixels, pixels, false, true, 1, b.read("v"), wantScores), b.read("out"), 1e-12, "out")
	b.close()
}

func TestSoftmax(t *testing.T) {
	for _, shape := range [][]int{{2, 3, 4, 5}, {3, 700}, {9}} {
		length := shape[len(shape)-1]
		operands := []operandSpec{{name: "x", shape: shape}, {name: "y", shape: shape}, {name: "dY", shape: shape}, {name: "dX", shape: shape}}
		kernelTest{
			name: fmt.Sprintf("forward/%v", shape), operands: operands,
			kernel: func(r map[string]ir.Ref) ir.Kernel { return &ir.Softmax{X: r["x"], Y: r["y"]} },
			want:   func(v values) values { return values{"y": referenceSoftmax(v["x"], length)} },
		}.run(t)
		for _, accumulate := range []bool{false, true} {
			kernelTest{
				name: fmt.Sprintf("gradient/%v/accumulate=%v", shape, accumulate), operands: operands, tolerance: numeric,
				prepare: func(v values) { v["y"] = referenceSoftmax(v["x"], length) },
				kernel: func(r map[string]ir.Ref) ir.Kernel {
					return &ir.SoftmaxGradient{DY: r["dY"], Y: r["y"], DX: r["dX"], Accumulate: accumulate}
				},
				want: func(v values) values {
					dX := numericGradient(func(x []float64) []float64 { return referenceSoftmax(x, length) }, v["x"], v["dY"])
					return values{"dX": plus(accumulate, v["dX"], dX)}
				},
			}.run(t)
		}
	}
}

func TestSoftmaxOfLargeValues(t *testing.T) {
	p := newPlan()
	p.op(&ir.Softmax{X: p.float("x", dense, 3), Y: p.float("y", dense, 3)})
	b := p.bind(t, device.FP32)
	b.write("x", []float64{1000, 1000, -1000})
	b.run()
	require.Equal(t, []float64{0.5, 0.5}, b.read("y")[:2])
	require.Less(t, b.read("y")[2], 1e-37)
	b.close()
}
