package pass_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
)

// trained gives rows (N, 4, 3) that want a gradient.
func trained(b *stage.Builder) stage.Tensor {
	x := b.Input("x", stage.Shape{stage.Batch, 4, 3}, stage.Differentiable())
	return b.SiLU(x)
}

func TestLinearCombinationHasAGradientPerTerm(t *testing.T) {
	s := plan(t, func(b *stage.Builder) {
		x := trained(b)
		b.Output("y", b.LinearCombination(stage.Term{X: x, Factor: 2, By: b.Scalar("rate")}, stage.Term{X: b.ReLU(x)}))
	})
	require.Equal(t, []string{"linear_combination", "linear_combination", "activate_gradient", "activate_gradient"}, kinds(s.Backward[0].Ops))
}

// The addend and both factors of a product get gradients.
func TestMatMulAddIsDifferentiable(t *testing.T) {
	s := plan(t, func(b *stage.Builder) {
		x := trained(b)
		square := b.MatMul(x, x, stage.Product{TransposeA: true})
		b.Output("y", b.MatMulAdd(square, -2, x, x, stage.Product{TransposeA: true, Alpha: 3}))
	})
	require.Equal(t, []string{"matmul", "matmul", "scale", "matmul", "matmul", "activate_gradient"}, kinds(s.Backward[0].Ops))
}

func TestNormalizeMatricesHasNoGradient(t *testing.T) {
	d, err := stage.Define("network", func(b *stage.Builder) { b.Output("y", b.NormalizeMatrices(trained(b), 1e-7)) }).Build()
	require.NoError(t, err)
	_, err = pass.Run(d, nil)
	require.ErrorContains(t, err, "the gradient of normalize_matrices: the operation normalize_matrices has no gradient")
}

// A stage of fixed inputs has the same plan at every batch and nothing to
// differentiate.
func TestFixedInputs(t *testing.T) {
	s := plan(t, func(b *stage.Builder) {
		x := b.FixedInput("x", 5, 4, 3)
		b.Output("y", b.LinearCombination(stage.Term{X: x, By: b.Scalar("rate")}))
	})
	for _, storage := range s.Storages {
		_, constant := storage.Size.Constant()
		require.True(t, constant, storage.Name)
	}
	require.Empty(t, s.Backward[0].Ops)
}
