package pass_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/stage"
)

// parts are queries, keys and values of two heads, (N, 2, width, H*W), that want
// gradients.
func parts(b *stage.Builder, key, value int) (q, k, v stage.Tensor) {
	x := b.Input("x", stage.Shape{stage.Batch, stage.Size(2 * (2*key + value)), stage.Height, stage.Width}, stage.Differentiable())
	p := b.Split(b.Heads(b.SiLU(x), 2), key, key, value)
	return p[0], p[1], p[2]
}

func TestAttentionIsOneOperation(t *testing.T) {
	p := plan(t, func(b *stage.Builder) {
		q, k, v := parts(b, 4, 8)
		scores := b.MatMul(q, k, stage.Product{TransposeA: true, Alpha: 0.5})
		b.Output("y", b.MatMul(v, b.Softmax(scores), stage.Product{TransposeB: true}))
	})
	require.Equal(t, []string{"activate", "attention"}, kinds(p.Forward))
	op := p.Forward[1]
	require.Equal(t, "attention", op.Name)
	a := op.Do.(*ir.Attention)
	require.Equal(t, ir.Attention{
		Q: a.Q, K: a.K, V: a.V, Y: a.Y, LogSum: a.LogSum, Alpha: 0.5, TransposeQ: true, TransposeK: true, TransposeV: true, TransposeY: true,
	}, *a)
	for _, ref := range []ir.Ref{a.Q, a.K, a.V} {
		require.Equal(t, p.Tensor(a.Q).Storage, p.Tensor(ref).Storage)
	}
	sum := p.Tensor(a.LogSum)
	require.Equal(t, ir.Master, sum.Elem)
	require.Equal(t, "(N, 2, H*W)", ir.ShapeText(sum.Shape))
	longest := ir.H.Mul(ir.W).Mul(ir.H).Mul(ir.W).Mul(ir.N)
	for _, s := range p.Storages {
		require.False(t, s.Size.Equal(longest.Times(2)), "no matrix of scores is kept")
	}

	require.Equal(t, []string{"attention_gradient", "activate_gradient"}, kinds(p.Backward[0].Ops))
	g := p.Backward[0].Ops[0].Do.(*ir.AttentionGradient)
	require.Equal(t, "d "+p.Tensor(a.Q).Name, p.Tensor(g.DQ).Name)
	require.Equal(t, "d "+p.Tensor(a.K).Name, p.Tensor(g.DK).Name)
	require.Equal(t, "d "+p.Tensor(a.V).Name, p.Tensor(g.DV).Name)
	require.Equal(t, ir.AttentionGradient{
		Q: a.Q, K: a.K, V: a.V, Y: a.Y, LogSum: a.LogSum, DY: g.DY, DQ: g.DQ, DK: g.DK, DV: g.DV,
		Alpha: 0.5, TransposeQ: true, TransposeK: true, TransposeV: true, TransposeY: true,
	}, *g)
}

// Rows (N, positions, C) have the transpositions the other way round.
func TestAttentionOverRows(t *testing.T) {
	p := plan(t, func(b *stage.Builder) {
		x := b.Input("x", stage.Shape{stage.Batch, 5, 4}, stage.Differentiable())
		k := b.Input("k", stage.Shape{stage.Batch, 4, 3})
		v := b.Input("v", stage.Shape{stage.Batch, 3, 6}, stage.Differentiable())
		b.Output("y", b.Scope("a").MatMul(b.Scope("a").Softmax(b.Scope("a").MatMul(x, k, stage.Product{})), v, stage.Product{}))
	})
	require.Equal(t, []string{"attention"}, kinds(p.Forward))
	require.Equal(t, "a.attention", p.Forward[0].Name)
	a := p.Forward[0].Do.(*ir.Attention)
	require.Equal(t, []bool{false, true, false, false}, []bool{a.TransposeQ, a.TransposeK, a.TransposeV, a.TransposeY})
	require.Equal(t, "(N, 5)", ir.ShapeText(p.Tensor(a.LogSum).Shape))
	g := p.Backward[0].Ops[0].Do.(*ir.AttentionGradient)
	require.Zero(t, g.DK, "k wants no gradient")
	require.NotZero(t, g.DQ)
	require.NotZero(t, g.DV)
}

// What kernels do not serve, or what somebody else reads, stays three operations.
func TestWhatStaysThreeOperations(t *testing.T) {
	product := func(b *stage.Builder, alpha float64) (scores, v stage.Tensor) {
		q, k, v := parts(b, 4, 8)
		return b.MatMul(q, k, stage.Product{TransposeA: true, Alpha: alpha}), v
	}
	mix := func(b *stage.Builder, v, p stage.Tensor) {
		b.Output("y", b.MatMul(v, p, stage.Product{TransposeB: true}))
	}
	wide := func(key, value int) func(*stage.Builder) {
		return func(b *stage.Builder) {
			q, k, v := parts(b, key, value)
			mix(b, v, b.Softmax(b.MatMul(q, k, stage.Product{TransposeA: true})))
		}
	}
	for name, build := range map[string]func(b *stage.Builder){
		"scores are an output": func(b *stage.Builder) {
			s, v := product(b, 1)
			b.Output("scores", s)
			mix(b, v, b.Softmax(s))
		},
		"probabilities are an output": func(b *stage.Builder) {
			s, v := product(b, 1)
			p := b.Softmax(s)
			b.Output("p", p)
			mix(b, v, p)
		},
		"probabilities are read twice": func(b *stage.Builder) {
			s, _ := product(b, 1)
			p := b.Softmax(s)
			b.Output("y", b.MatMul(p, p, stage.Product{}))
		},
		"probabilities are transposed": func(b *stage.Builder) {
			s, v := product(b, 1)
			b.Output("y", b.MatMul(v, b.Softmax(s), stage.Product{}))
		},
		"scores are changed": func(b *stage.Builder) {
			s, v := product(b, 1)
			mix(b, v, b.Softmax(b.Scale(s, 0.5)))
		},
		"negative factor": func(b *stage.Builder) {
			s, v := product(b, -1)
			mix(b, v, b.Softmax(s))
		},
		"factor of the result": func(b *stage.Builder) {
			s, v := product(b, 1)
			b.Output("y", b.MatMul(v, b.Softmax(s), stage.Product{TransposeB: true, Alpha: 2}))
		},
		"width that is no number": func(b *stage.Builder) {
			q := b.Heads(b.Input("x", image, stage.Differentiable()), 1)
			b.Output("y", b.MatMul(b.Softmax(b.MatMul(q, q, stage.Product{TransposeB: true})), q, stage.Product{}))
		},
		"wide keys":   wide(ir.MaxKeyWidth+1, 8),
		"wide values": wide(8, ir.MaxValueWidth+1),
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, build)
			require.Contains(t, kinds(p.Forward), "softmax")
			require.NotContains(t, kinds(p.Forward), "attention")
			require.Contains(t, kinds(p.Backward[0].Ops), "softmax_gradient")
		})
	}
	require.Contains(t, kinds(plan(t, wide(ir.MaxKeyWidth, ir.MaxValueWidth)).Forward), "attention")
}

// Gradients that meet have launches of their own, of which the later ones add; where
// another operation has given a gradient before, they add as well.
func TestGradientsOfAttentionThatMeet(t *testing.T) {
	p := plan(t, func(b *stage.Builder) {
		x := b.Heads(b.Input("x", image, stage.Differentiable()), 1)
		y := b.MatMul(x, b.Softmax(b.MatMul(x, x, stage.Product{TransposeA: true})), stage.Product{TransposeB: true})
		b.Output("y", b.Add(x, y))
	})
	require.Equal(t, []string{"copy", "copy", "attention_gradient", "attention_gradient", "attention_gradient"}, kinds(p.Backward[0].Ops))
	for i, op := range p.Backward[0].Ops[2:] {
		g := op.Do.(*ir.AttentionGradient)
		require.Equal(t, []bool{i == 0, i == 1, i == 2}, []bool{g.DQ != 0, g.DK != 0, g.DV != 0})
		require.Equal(t, []bool{i == 0, i == 1, i == 2}, []bool{g.AccumulateQ, g.AccumulateK, g.AccumulateV})
	}

	p = plan(t, func(b *stage.Builder) {
		q, k, v := parts(b, 4, 8)
		y := b.MatMul(v, b.Softmax(b.MatMul(q, k, stage.Product{TransposeA: true})), stage.Product{TransposeB: true})
		b.Output("y", b.Add(v, y))
	})
	require.Equal(t, []string{"copy", "copy", "attention_gradient", "activate_gradient"}, kinds(p.Backward[0].Ops))
	g := p.Backward[0].Ops[2].Do.(*ir.AttentionGradient)
	require.Equal(t, []bool{false, false, true}, []bool{g.AccumulateQ, g.AccumulateK, g.AccumulateV})
}
