package stage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/stage"
)

func TestLinearAlgebraIsRecorded(t *testing.T) {
	s, err := stage.Define("update", func(b *stage.Builder) {
		x, rate := b.FixedInput("x", 4, 8, 6), b.Scalar("rate")
		gram := b.MatMul(b.NormalizeMatrices(x, 1e-7), x, stage.Product{TransposeA: true})
		p := b.MatMulAdd(gram, -2, gram, gram, stage.Product{Alpha: 3})
		y := b.MatMul(x, p, stage.Product{})
		b.Output("y", b.LinearCombination(stage.Term{X: y, Factor: 0.5, By: rate}, stage.Term{X: x}))
	}).Build()
	require.NoError(t, err)
	require.Equal(t, "(4, 8, 6)", ir.ShapeText(s.Tensor(s.Inputs[0].Tensor).Shape))
	require.Equal(t, "(1)", ir.ShapeText(s.Tensor(s.Inputs[1].Tensor).Shape))
	var kinds []string
	for _, op := range s.Forward {
		kinds = append(kinds, op.Do.Kind())
		require.Equal(t, "linear_test.go", op.Pos.File, op.Name)
	}
	require.Equal(t, []string{"normalize_matrices", "matmul", "scale", "matmul", "matmul", "linear_combination"}, kinds)
	sum, product := s.Forward[2].Do.(*ir.Scale), s.Forward[3].Do.(*ir.MatMul)
	require.Equal(t, -2.0, sum.Factor)
	require.Equal(t, sum.Y, product.Y)
	require.True(t, product.Accumulate)
	last := s.Forward[5].Do.(*ir.LinearCombination)
	require.Equal(t, []float64{0.5, 1}, last.Coefficients)
	require.Equal(t, []ir.Ref{s.Inputs[1].Tensor, 0}, last.Factors)
}

func TestLinearAlgebraMistakes(t *testing.T) {
	_, err := stage.Define("broken", func(b *stage.Builder) {
		x, y, rate := b.FixedInput("x", 4, 8, 6), b.FixedInput("y", 1, 6), b.Scalar("rate")
		b.FixedInput("z", 4)
		b.FixedInput("w", 4, 0)
		b.Scalar("rate")
		b.LinearCombination()
		b.LinearCombination(stage.Term{X: x}, stage.Term{X: y})
		b.LinearCombination(stage.Term{X: x, By: y})
		b.MatMulAdd(x, 1, x, x, stage.Product{TransposeB: true})
		b.MatMul(rate, rate, stage.Product{})
		b.NormalizeMatrices(y, 1e-7)
		b.NormalizeMatrices(x, 0)
		b.Concat(rate, rate)
		b.Output("out", b.SiLU(x))
	}).Build()
	var mistakes stage.Mistakes
	require.ErrorAs(t, err, &mistakes)
	for i, want := range []string{
		"input: z has 1 fixed sizes; declare (N, C) or (M, R, C)",
		"input: w has a size of 0; use sizes of 1 or more",
		"input: the name rate is taken",
		"linear_combination: it has 0 terms; give 1 to 3",
		"linear_combination: term 2 is a vector (1, 6) beside rows (4, 8, 6); all terms must have one shape",
		"linear_combination: term 1 is multiplied by a vector (1, 6); a factor is a number from Builder.Scalar",
		"matmul_add: the addend is rows (4, 8, 6), the product has shape (4, 8, 8)",
		"matmul: the operands are a scalar (1) and a scalar (1), which are not both matrices",
		"normalize_matrices: the input is a vector (1, 6); it takes rows or matrices",
		"normalize_matrices: epsilon is 0; use a number above 0",
		"concat: the input is a scalar (1)",
	} {
		require.Contains(t, mistakes[i].String(), want)
	}
}
