// Package language uses everything that a port and a state entry can be.
package language

import "github.com/reprise-ml/reprise/gen/stage"

// Network has optional and training-only outputs and two inputs, one of which
// wants a gradient.
var Network = stage.Define("network", func(b *stage.Builder) {
	b.Multiple(4)
	image := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width}, stage.Differentiable())
	condition := b.Input("condition", stage.Shape{stage.Batch, 5})
	x := b.Scope("stem").Conv2d(image, stage.Conv{Out: 8, Kernel: 3, Stride: 2})
	x = b.SiLU(b.Scope("stem.bn").BatchNorm(x, stage.Norm{}))
	b.Output("feature", x, stage.Optional())
	y := b.Add(b.Scope("a").Linear(b.GlobalAveragePool(x), 6, stage.UniformBias), b.Scope("b").Linear(condition, 6, stage.NoBias))
	b.Output("logits", y)
	b.Output("auxiliary", b.Tanh(y), stage.TrainingOnly())
})
