// Package definition holds stages that are small enough to run thousands of
// steps of, for tests of the back ends and of recording.
package definition

import (
	"github.com/reprise-ml/reprise/gen/stage"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out .. .

// Network has a trunk, two heads of which one may get no cotangent, branches
// that can run side by side, odd channel counts, pooling, upsampling, attention
// and dropout. Its input is image, (N, 3, H, W), H and W multiples of 8 px, which
// wants a gradient; its outputs for A = H*W/16 anchors are classes, (N, A, 3),
// and coefficients, (N, A, 5).
var Network = stage.Define("network", func(b *stage.Builder) {
	b.Multiple(8)
	x := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width}, stage.Differentiable())
	x = unit(b, x, "stem", 16, 3, 2)
	x = unit(b, x, "body", 21, 3, 2)
	small := unit(b, b.Scope("pool").MaxPool(x, stage.Pool{Kernel: 5, Stride: 1, Padding: 2}), "down", 32, 3, 2)
	x = b.Concat(x, b.Upsample(small), attention(b.Scope("attention"), unit(b, x, "values", 16, 1, 1)))
	classes := b.Scope("classes").Conv2d(unit(b, x, "classes", 12, 3, 1), stage.Conv{Out: 3, Bias: stage.ConstantBias(-2)})
	b.Output("classes", b.Anchors(classes))
	y := b.Scope("dropout").Dropout(unit(b, x, "coefficients", 8, 3, 1), 0.25)
	y = b.Scope("coefficients").Conv2d(y, stage.Conv{Out: 5, Bias: stage.UniformBias})
	b.Output("coefficients", b.Anchors(y), stage.Optional())
})

// First and Second draw random numbers by themselves (field cases SE-04 and
// SE-05): each drops half of its input x, (N, 16).
var (
	First  = stage.Define("first", dropout("first"))
	Second = stage.Define("second", dropout("second"))
)

func dropout(scope string) func(*stage.Builder) {
	return func(b *stage.Builder) {
		x := b.Input("x", stage.Shape{stage.Batch, 16})
		b.Output("y", b.Scope(scope).Dropout(x, 0.5))
	}
}

// unit is convolution, batch norm and SiLU.
func unit(b *stage.Builder, x stage.Tensor, name string, out, kernel, stride int) stage.Tensor {
	b = b.Scope(name)
	x = b.Scope("conv").Conv2d(x, stage.Conv{Out: out, Kernel: kernel, Stride: stride})
	return b.SiLU(b.Scope("bn").BatchNorm(x, stage.Norm{Epsilon: 1e-3, Momentum: 0.03}))
}

// attention lets every place of a map look at all others, with two heads.
func attention(b *stage.Builder, x stage.Tensor) stage.Tensor {
	heads := b.Heads(x, 2)
	scores := b.Softmax(b.Scale(b.MatMul(b.Transpose(heads), heads, stage.Product{}), 0.35))
	return b.Map(b.MatMul(heads, b.Transpose(scores), stage.Product{}), x)
}
