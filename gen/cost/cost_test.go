package cost_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/cost"
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
)

func TestCountsByHand(t *testing.T) {
	defined, err := stage.Define("network", func(b *stage.Builder) {
		b.Multiple(2)
		x := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
		x = b.Scope("a").Conv2d(x, stage.Conv{Out: 8, Kernel: 3, Stride: 2})
		x = b.Scope("b").Conv2d(x, stage.Conv{Out: 8, Kernel: 3, Groups: 4})
		b.Output("y", b.Scope("c").Linear(b.GlobalAveragePool(x), 10, stage.UniformBias))
	}).Build()
	require.NoError(t, err)
	plan, err := pass.Run(defined, nil)
	require.NoError(t, err)
	sizes := ir.Sizes{Batch: 2, Height: 8, Width: 8}
	programs, err := cost.Programs(plan, sizes)
	require.NoError(t, err)
	const (
		a = 2 * 8 * 4 * 4 * 3 * 3 * 3
		b = 2 * 8 * 4 * 4 * 2 * 3 * 3
		c = 2 * 10 * 8
	)
	require.Equal(t, []string{"forward training", "forward evaluation", "backward"}, []string{programs[0].Name, programs[1].Name, programs[2].Name})
	require.Equal(t, a+b+c, programs[0].MACs)
	require.Equal(t, a+b+c, programs[1].MACs)
	require.Equal(t, a+2*b+2*c, programs[2].MACs, "the image needs no gradient")
	require.Equal(t, []string{"y"}, programs[2].Present)
	for _, p := range programs {
		require.Positive(t, p.Launches)
		require.Positive(t, p.Lanes)
	}
	arenas, err := cost.Arenas(plan, sizes)
	require.NoError(t, err)
	require.Equal(t, 2*arenas[1].Bytes, arenas[0].Bytes, "only activations here")
	require.Equal(t, arenas[1].Bytes, arenas[2].Bytes)
	// Two maps and the pooled vector are alive at once, and as many gradients
	// need no more.
	require.GreaterOrEqual(t, arenas[0].Bytes, 4*(2*2*8*4*4+2*8))
	_, err = cost.Programs(plan, ir.Sizes{Batch: 2, Height: 7, Width: 8})
	require.ErrorContains(t, err, "multiple")
}

// Attention of two heads over 12 places counts its products, and its gradients those
// of the scores and of their gradient as well.
func TestAttentionCounts(t *testing.T) {
	const key, value, places, heads = 3, 5, 12, 2
	defined, err := stage.Define("network", func(b *stage.Builder) {
		image := stage.Shape{stage.Batch, heads * (key + value), stage.Height, stage.Width}
		x, y := b.Input("x", image, stage.Differentiable()), b.Input("y", stage.Shape{stage.Batch, heads * key, stage.Height, stage.Width})
		parts := b.Split(b.Heads(x, heads), key, value)
		scores := b.MatMul(parts[0], b.Heads(y, heads), stage.Product{TransposeA: true})
		b.Output("z", b.MatMul(parts[1], b.Softmax(scores), stage.Product{TransposeB: true}))
	}).Build()
	require.NoError(t, err)
	plan, err := pass.Run(defined, nil)
	require.NoError(t, err)
	programs, err := cost.Programs(plan, ir.Sizes{Batch: 2, Height: 3, Width: 4})
	require.NoError(t, err)
	const pairs = 2 * heads * places * places
	require.Equal(t, pairs*(key+value), programs[0].MACs)
	require.Equal(t, pairs*(key+value)+pairs*(key+value), programs[2].MACs, "scores, their gradient, and the gradients of queries and values")
	require.Equal(t, []int{1, 1, 1}, []int{programs[0].Launches, programs[1].Launches, programs[2].Launches})
}

// Storages whose places meet need the largest of them, others lie above.
func TestArenasByHand(t *testing.T) {
	plan := &ir.Stage{
		Storages: []ir.Storage{
			{Space: ir.Arena, Elem: ir.Activation, Size: ir.N.Times(100), Place: ir.Place{From: 0, To: 400}},
			{Space: ir.Arena, Elem: ir.Activation, Size: ir.Const(150), Place: ir.Place{From: 0, To: 150}},
			{Space: ir.Arena, Elem: ir.Activation, Size: ir.Const(30), Place: ir.Place{From: 150, To: 180}},
			{Space: ir.Arena, Elem: ir.Master, Size: ir.Const(64), Place: ir.Place{From: 0, To: 64}},
			{Space: ir.Arena, Elem: ir.Counter, Size: ir.Const(33), Place: ir.Place{From: 0, To: 33}},
			{Space: ir.Output, Elem: ir.Activation, Size: ir.Const(1 << 20)},
		},
	}
	arenas, err := cost.Arenas(plan, ir.Sizes{Batch: 2, Height: 1, Width: 1})
	require.NoError(t, err)
	require.Equal(t, []cost.Arena{
		{Precision: "fp32", Bytes: 800 + 256 + 264},
		{Precision: "fp16", Bytes: 400 + 256 + 264},
		{Precision: "bf16", Bytes: 400 + 256 + 264},
	}, arenas)
}

// A 1x1 convolution of two images: image, weight and result once each, and the
// gradient of the weight; a bias is added by reading it.
func TestTrafficByHand(t *testing.T) {
	defined, err := stage.Define("network", func(b *stage.Builder) {
		x := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
		b.Output("y", b.Conv2d(x, stage.Conv{Out: 8, Kernel: 1}))
	}).Build()
	require.NoError(t, err)
	plan, err := pass.Run(defined, nil)
	require.NoError(t, err)
	sizes := ir.Sizes{Batch: 2, Height: 4, Width: 4}
	const x, weight, y = 2 * 3 * 4 * 4, 8 * 3, 2 * 8 * 4 * 4
	bytes, err := cost.Traffic(plan, plan.Forward, sizes, 2)
	require.NoError(t, err)
	require.Equal(t, 2*x+4*weight+2*y, bytes, "weights have four bytes in every precision")
	bytes, err = cost.Traffic(plan, plan.Backward[0].Ops, sizes, 4)
	require.NoError(t, err)
	require.Equal(t, 4*(x+weight+y), bytes)
	_, err = cost.Traffic(plan, plan.Forward, ir.Sizes{}, 2)
	require.Error(t, err)
}
