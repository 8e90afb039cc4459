package pass_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
)

func plan(t *testing.T, build func(b *stage.Builder)) *ir.Stage {
	t.Helper()
	s, err := stage.Define("test", build).Build()
	require.NoError(t, err)
	p, err := pass.Run(s, nil)
	require.NoError(t, err)
	return p
}

func kinds(ops []ir.Op) []string {
	var out []string
	for _, op := range ops {
		out = append(out, op.Do.Kind())
	}
	return out
}

func unit(b *stage.Builder, x stage.Tensor, name string, out, kernel int) stage.Tensor {
	b = b.Scope(name)
	x = b.Scope("conv").Conv2d(x, stage.Conv{Out: out, Kernel: kernel})
	x = b.Scope("bn").BatchNorm(x, stage.Norm{})
	return b.SiLU(x)
}

var image = stage.Shape{stage.Batch, 4, stage.Height, stage.Width}

func TestNormActivationAndResidualFuse(t *testing.T) {
	p := plan(t, func(b *stage.Builder) {
		x := b.Input("x", image)
		b.Output("y", b.Add(x, unit(b, x, "u", 4, 3)))
	})
	require.Equal(t, []string{"conv2d", "batch_statistics", "running_statistics", "normalize"}, kinds(p.Forward))
	norm := p.Forward[3].Do.(*ir.Normalize)
	require.Equal(t, ir.SiLU, norm.Activation)
	require.Equal(t, p.Inputs[0].Tensor, norm.Residual)
	require.Equal(t, []string{"normalize_reduce", "normalize_gradient", "conv2d_weight_gradient"}, kinds(p.Backward[0].Ops))
}

func TestAValueThatIsReadTwiceDoesNotFuse(t *testing.T) {
	p := plan(t, func(b *stage.Builder) {
		x := b.Input("x", image)
		y := b.BatchNorm(x, stage.Norm{})
		b.Output("y", b.Multiply(y, b.SiLU(y)))
	})
	require.Equal(t, []string{"batch_statistics", "running_statistics", "normalize", "activate", "multiply"}, kinds(p.Forward))
}

// A C3k2 block: both halves of a convolution and what follows them are joined
// again. Nothing is copied, forward or backward.
func TestChunkAndConcatAreViews(t *testing.T) {
	p := plan(t, func(b *stage.Builder) {
		x := unit(b, b.Input("x", image), "cv1", 8, 1)
		halves := b.Chunk(x, 2)
		y := b.Add(halves[1], unit(b, halves[1], "inner", 4, 3))
		b.Output("y", unit(b, b.Concat(halves[0], halves[1], y), "cv2", 6, 1))
	})
	require.NotContains(t, kinds(p.Forward), "copy")
	require.NotContains(t, kinds(p.Backward[0].Ops), "fill")
	storages := map[ir.StorageID]bool{}
	for _, op := range p.Forward {
		if n, ok := op.Do.(*ir.Normalize); ok {
			storages[p.Tensor(n.Y).Storage] = true
		}
	}
	require.Len(t, storages, 2, "cv1 and inner write into one storage, cv2 into the output")
}

func TestConcatCopiesWhatCannotBePlaced(t *testing.T) {
	for name, build := range map[string]func(b *stage.Builder, x, y stage.Tensor) stage.Tensor{
		"twice": func(b *stage.Builder, x, _ stage.Tensor) stage.Tensor { return b.Concat(x, x) },
		"swapped": func(b *stage.Builder, x, _ stage.Tensor) stage.Tensor {
			h := b.Chunk(x, 2)
			return b.Concat(h[1], h[0])
		},
		"half, between": func(b *stage.Builder, x, y stage.Tensor) stage.Tensor {
			h := b.Chunk(x, 2)
			return b.Concat(h[0], y, h[1])
		},
	} {
		p := plan(t, func(b *stage.Builder) {
			in := b.Input("x", image)
			x, y := unit(b, in, "x", 4, 1), unit(b, in, "y", 2, 1)
			b.Output("z", b.Scale(b.Concat(build(b, x, y), y), 2))
		})
		require.Contains(t, kinds(p.Forward), "copy", name)
	}
}

// Field case GR-01: a parameter that only an unused output needs is in no
// operation of the program.
func TestOptionalOutputsGiveOnePrunedProgramPerPattern(t *testing.T) {
	p := plan(t, func(b *stage.Builder) {
		x := b.Input("x", image)
		b.Output("a", b.Scope("a").Conv2d(x, stage.Conv{Out: 1}), stage.Optional())
		b.Output("b", b.Scope("b").Conv2d(x, stage.Conv{Out: 1}), stage.Optional())
	})
	require.Len(t, p.Backward, 3)
	require.Equal(t, []string{"a", "b"}, p.Backward[0].Present)
	require.Equal(t, []string{"a.weight", "b.weight"}, p.Backward[0].Parameters)
	require.Equal(t, []string{"b"}, p.Backward[1].Present)
	require.Equal(t, []string{"b.weight"}, p.Backward[1].Parameters)
	require.Len(t, p.Backward[1].Ops, 1)
	require.Equal(t, []string{"a.weight"}, p.Backward[2].Parameters)
}

func TestUnusedHalfOfASplitGetsZeros(t *testing.T) {
	p := plan(t, func(b *stage.Builder) {
		x := b.Scope("c").Conv2d(b.Input("x", image), stage.Conv{Out: 8})
		b.Output("y", b.SiLU(b.Chunk(x, 2)[1]))
	})
	require.Equal(t, []string{"activate_gradient", "fill", "conv2d_weight_gradient"}, kinds(p.Backward[0].Ops))
}

// Where views overlap, the part without a gradient may be no tensor of the
// definition: channels 1 to 7 of the convolution here, since the other piece of
// the split goes on into the second copy.
func TestUnusedChannelsGetZeros(t *testing.T) {
	p := plan(t, func(b *stage.Builder) {
		x := b.Scope("c").Conv2d(b.Input("x", image), stage.Conv{Out: 8})
		b.Output("y", b.SiLU(b.Split(b.Concat(x, x), 1, 15)[0]))
	})
	ops := p.Backward[0].Ops
	require.Equal(t, []string{"activate_gradient", "fill", "conv2d_weight_gradient"}, kinds(ops))
	zeros, whole := p.Tensor(ops[1].Do.(*ir.Fill).Y), p.Tensor(ops[2].Do.(*ir.Conv2dWeightGradient).DY)
	require.Equal(t, whole.Storage, zeros.Storage)
	require.Equal(t, ir.Const(7), zeros.Shape[1])
	require.Equal(t, whole.Offset.Add(whole.Strides[1]), zeros.Offset)
}

func TestBranchesGetLanesAndWaits(t *testing.T) {
	p := plan(t, func(b *stage.Builder) {
		x := unit(b, b.Input("x", image), "trunk", 8, 3)
		one, two := unit(b, x, "one", 8, 3), unit(b, x, "two", 8, 3)
		b.Output("y", b.Multiply(one, two))
	})
	lanes := map[int]bool{}
	waits := 0
	for _, op := range p.Forward {
		lanes[op.Lane] = true
		waits += len(op.Wait)
	}
	require.Greater(t, len(lanes), 1)
	require.Greater(t, waits, 1)
}

func TestPlansReadBackAndKeepTheirDigest(t *testing.T) {
	p := plan(t, func(b *stage.Builder) {
		b.Output("y", unit(b, b.Input("x", image), "u", 4, 3))
	})
	data, err := ir.Encode(p)
	require.NoError(t, err)
	back, err := ir.Decode(data)
	require.NoError(t, err)
	d, err := ir.Digest(back)
	require.NoError(t, err)
	require.Equal(t, p.Digest, d)
	again, err := ir.Encode(back)
	require.NoError(t, err)
	require.Equal(t, string(data), string(again))
}
