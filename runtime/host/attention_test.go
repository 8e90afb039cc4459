package host

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// attentionSizes are those of six matrices of each operand.
type attentionSizes struct{ queries, keys, key, value int }

// referenceAttention is softmax(alpha q k^T) v with the logarithms of the sums, row by
// row from the formula.
func referenceAttention(s attentionSizes, alpha float64, q, k, v []float64) (y, logSum []float64) {
	scores := referenceMatMul(6, s.queries, s.key, s.keys, false, true, alpha, q, k)
	p := referenceSoftmax(scores, s.keys)
	for i := 0; i < len(scores); i += s.keys {
		logSum = append(logSum, scores[i]-math.Log(p[i]))
	}
	return referenceMatMul(6, s.queries, s.keys, s.value, false, false, 1, p, v), logSum
}

// turned changes six matrices rows x columns to their transposes, if they should be.
func turned(turn bool, rows, columns int, x []float64) []float64 {
	if !turn {
		return x
	}
	out := make([]float64, len(x))
	for n := range 6 {
		for i := range rows {
			for j := range columns {
				out[(n*columns+j)*rows+i] = x[(n*rows+i)*columns+j]
			}
		}
	}
	return out
}

// attentionCases have one block of queries and keys, several, and fewer keys than
// queries; every orientation of the operands occurs.
var attentionCases = []struct {
	attentionSizes
	q, k, v, y bool // transposed
}{
	{attentionSizes{5, 7, 3, 4}, false, false, false, false},
	{attentionSizes{5, 5, 2, 3}, true, true, true, true},
	{attentionSizes{70, 67, 3, 5}, true, false, true, false},
	{attentionSizes{66, 1, 2, 1}, false, true, false, true},
	{attentionSizes{1, 200, 4, 3}, false, true, true, false},
}

func TestAttention(t *testing.T) {
	for _, c := range attentionCases {
		s := c.attentionSizes
		kernelTest{
			name: fmt.Sprint(c),
			operands: []operandSpec{
				{name: "q", shape: swapped(c.q, s.queries, s.key)}, {name: "k", shape: swapped(c.k, s.keys, s.key)}, {name: "v", shape: swapped(c.v, s.keys, s.value)},
				{name: "y", shape: swapped(c.y, s.queries, s.value)}, {name: "logSum", shape: []int{2, 3, s.queries}},
			},
			kernel: func(r map[string]ir.Ref) ir.Kernel {
				return &ir.Attention{Q: r["q"], K: r["k"], V: r["v"], Y: r["y"], LogSum: r["logSum"], Alpha: 3, TransposeQ: c.q, TransposeK: c.k, TransposeV: c.v, TransposeY: c.y}
			},
			want: func(v values) values {
				y, logSum := referenceAttention(s, 3, turned(c.q, s.key, s.queries, v["q"]), turned(c.k, s.key, s.keys, v["k"]), turned(c.v, s.value, s.keys, v["v"]))
				return values{"y": turned(c.y, s.queries, s.value, y), "logSum": logSum}
			},
		}.run(t)
	}
}

// All sets of gradients, against central differences.
func TestAttentionGradient(t *testing.T) {
	for i, c := range attentionCases[:2] {
		for set := 1; set < 8; set++ {
			attentionGradientTest(c.attentionSizes, [4]bool{c.q, c.k, c.v, c.y}, set, set>>i&1 == 1).run(t)
		}
	}
}

func attentionGradientTest(s attentionSizes, turn [4]bool, set int, accumulate bool) kernelTest {
	const alpha = 0.7
	shapes := map[string][]int{
		"q": swapped(turn[0], s.queries, s.key), "k": swapped(turn[1], s.keys, s.key), "v": swapped(turn[2], s.keys, s.value), "y": swapped(turn[3], s.queries, s.value),
	}
	operands := []operandSpec{{name: "logSum", shape: []int{2, 3, s.queries}}}
	for _, name := range []string{"q", "k", "v", "y"} {
		operands = append(operands, operandSpec{name: name, shape: shapes[name]}, operandSpec{name: "d" + name, shape: shapes[name]})
	}
	forward := func(v values) (y, logSum []float64) {
		return referenceAttention(s, alpha, turned(turn[0], s.key, s.queries, v["q"]), turned(turn[1], s.key, s.keys, v["k"]), turned(turn[2], s.value, s.keys, v["v"]))
	}
	return kernelTest{
		name: fmt.Sprintf("%v/%v/set %d/accumulate=%v", s, turn, set, accumulate), operands: operands, tolerance: numeric,
		prepare: func(v values) {
			y, logSum := forward(v)
			v["y"], v["logSum"] = turned(turn[3], s.queries, s.value, y), logSum
		},
		kernel: func(r map[string]ir.Ref) ir.Kernel {
			k := &ir.AttentionGradient{
				Q: r["q"], K: r["k"], V: r["v"], Y: r["y"], LogSum: r["logSum"], DY: r["dy"], Alpha: alpha,
				TransposeQ: turn[0], TransposeK: turn[1], TransposeV: turn[2], TransposeY: turn[3],
				AccumulateQ: accumulate, AccumulateK: accumulate, AccumulateV: accumulate,
			}
			for i, d := range []*ir.Ref{&k.DQ, &k.DK, &k.DV} {
				if set>>i&1 == 1 {
					*d = r["d"+string("qkv"[i])]
				}
			}
			return k
		},
		want: func(v values) values {
			out := values{}
			dY := turned(turn[3], s.value, s.queries, v["dy"])
			for i, name := range []string{"q", "k", "v"} {
				if set>>i&1 == 0 {
					out["d"+name] = v["d"+name] // untouched
					continue
				}
				d := numericGradient(func(x []float64) []float64 {
					moved := values{"q": v["q"], "k": v["k"], "v": v["v"]}
					moved[name] = x
					y, _ := forward(moved)
					return y
				}, v[name], dY)
				out["d"+name] = plus(accumulate, v["d"+name], d)
			}
			return out
		},
	}
}

// Gradients over several blocks of queries and keys are those of the product, the
// softmax and the product, one after the other.
func TestAttentionGradientEqualsThreeOperations(t *testing.T) {
	const batch, heads, queries, keys, key, value, alpha = 2, 3, 130, 70, 5, 6, 0.5
	p := newPlan()
	shape := func(sizes ...int) []int { return append([]int{batch, heads}, sizes...) }
	add := func(name string, sizes ...int) ir.Ref { return p.float(name, dense, shape(sizes...)...) }
	q, k, v, dY := add("q", queries, key), add("k", keys, key), add("v", keys, value), add("dY", queries, value)
	y, logSum, dQ, dK, dV := add("y", queries, value), add("logSum", queries), add("dQ", queries, key), add("dK", keys, key), add("dV", keys, value)
	p.op(&ir.Attention{Q: q, K: k, V: v, Y: y, LogSum: logSum, Alpha: alpha})
	p.op(&ir.AttentionGradient{Q: q, K: k, V: v, Y: y, LogSum: logSum, DY: dY, DQ: dQ, DK: dK, DV: dV, Alpha: alpha})
	scores, probabilities, dP := add("scores", queries, keys), add("probabilities", queries, keys), add("dP", queries, keys)
	wantQ, wantK, wantV := add("wantQ", queries, key), add("wantK", keys, key), add("wantV", keys, value)
	p.op(&ir.MatMul{A: q, B: k, Y: scores, TransposeB: true, Alpha: alpha})
	p.op(&ir.Softmax{X: scores, Y: probabilities})
	p.op(&ir.MatMul{A: dY, B: v, Y: dP, TransposeB: true, Alpha: 1})
	p.op(&ir.MatMul{A: probabilities, B: dY, Y: wantV, TransposeA: true, Alpha: 1})
	p.op(&ir.SoftmaxGradient{DY: dP, Y: probabilities, DX: scores})
	p.op(&ir.MatMul{A: scores, B: k, Y: wantQ, Alpha: alpha})
	p.op(&ir.MatMul{A: scores, B: q, Y: wantK, TransposeA: true, Alpha: alpha})
	b := p.bind(t, device.Float64)
	for i, name := range []string{"q", "k", "v", "dY"} {
		b.write(name, random(uint64(i), device.Elements(b.tensor(name).Shape())))
	}
	b.run()
	for _, name := range []string{"Q", "K", "V"} {
		requireClose(t, b.read("want"+name), b.read("d"+name), 1e-12, "d"+name)
	}
	b.close()
}

// Scores beyond the range of exponentials do not overflow.
func TestAttentionOfLargeScores(t *testing.T) {
	p := newPlan()
	q, k, v := p.float("q", dense, 2, 1), p.float("k", dense, 3, 1), p.float("v", dense, 3, 1)
	p.op(&ir.Attention{Q: q, K: k, V: v, Y: p.float("y", dense, 2, 1), LogSum: p.float("logSum", dense, 2), Alpha: 1000})
	b := p.bind(t, device.FP32)
	b.write("q", []float64{1, -1})
	b.write("k", []float64{1, -1, 0})
	b.write("v", []float64{2, 3, 5})
	b.run()
	require.Equal(t, []float64{2, 3}, b.read("y"))
	require.Equal(t, []float64{1000, 1000}, b.read("logSum"))
	b.close()
}
