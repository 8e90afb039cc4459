package definition

import "github.com/reprise-ml/reprise/gen/stage"

// Attention is attention by itself, in every form that a kernel serves, for any
// height and width. Its inputs are x, (N, 128, H, W), and memory, (N, 70, 24), which
// want gradients. Of its outputs
//
//   - heads, (N, 64, H, W), has widths that fill tiles,
//   - shared, (N, 28, H, W), two heads whose keys are their queries, of odd widths,
//   - recalled, (N, H*W, 14), rows whose keys and values are those of memory;
//
// the last two may get no cotangent.
var Attention = stage.Define("attention", func(b *stage.Builder) {
	x := b.Input("x", stage.Shape{stage.Batch, 128, stage.Height, stage.Width}, stage.Differentiable())
	memory := b.Input("memory", stage.Shape{stage.Batch, 70, 24}, stage.Differentiable())

	parts := b.Split(b.Heads(x, 1), 32, 32, 64)
	scores := b.Scope("heads").MatMul(parts[0], parts[1], stage.Product{TransposeA: true, Alpha: 0.5})
	b.Output("heads", b.Map(b.Scope("heads").MatMul(parts[2], b.Scope("heads").Softmax(scores), stage.Product{TransposeB: true}), x))

	channels := b.Split(x, 10, 38, 80)
	parts = b.Split(b.Heads(channels[1], 2), 5, 14)
	scores = b.Scope("shared").MatMul(parts[0], parts[0], stage.Product{TransposeA: true, Alpha: 2})
	b.Output("shared", b.Map(b.Scope("shared").MatMul(parts[1], b.Scope("shared").Softmax(scores), stage.Product{TransposeB: true}), x), stage.Optional())

	remembered := b.Split(memory, 10, 14)
	scores = b.Scope("recalled").MatMul(b.Anchors(channels[0]), remembered[0], stage.Product{TransposeB: true})
	b.Output("recalled", b.Scope("recalled").MatMul(b.Scope("recalled").Softmax(scores), remembered[1], stage.Product{}), stage.Optional())
})
