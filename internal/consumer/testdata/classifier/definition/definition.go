// Package definition is a small image classifier of another module.
package definition

import "github.com/reprise-ml/reprise/gen/stage"

// Classes is the number of kinds of images.
const Classes = 3

// Network is the whole classifier.
var Network = stage.Define("network", func(b *stage.Builder) {
	b.Multiple(4)
	image := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
	x := block(b.Scope("0"), image, 8)
	x = b.MaxPool(x, stage.Pool{Kernel: 2, Stride: 2})
	x = block(b.Scope("1"), x, 16)
	b.Output("logits", b.Scope("head").Linear(b.GlobalAveragePool(x), Classes, stage.UniformBias))
})

// block is a convolution that halves the map, batch norm and ReLU.
func block(b *stage.Builder, x stage.Tensor, channels int) stage.Tensor {
	stride := 1
	if x.Channels() == 3 {
		stride = 2
	}
	x = b.Scope("conv").Conv2d(x, stage.Conv{Out: channels, Kernel: 3, Stride: stride})
	return b.ReLU(b.Scope("bn").BatchNorm(x, stage.Norm{}))
}
