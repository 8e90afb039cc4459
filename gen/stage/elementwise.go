package stage

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// SiLU is x * sigmoid(x).
func (b *Builder) SiLU(x Tensor) Tensor { return b.activate(author(), ir.SiLU, x, 0) }

// ReLU is max(x, 0).
func (b *Builder) ReLU(x Tensor) Tensor { return b.activate(author(), ir.ReLU, x, 0) }

// LeakyReLU is x for positive x and slope*x otherwise.
func (b *Builder) LeakyReLU(x Tensor, slope float64) Tensor {
	return b.activate(author(), ir.LeakyReLU, x, slope)
}

// Sigmoid is 1/(1+exp(-x)).
func (b *Builder) Sigmoid(x Tensor) Tensor { return b.activate(author(), ir.Sigmoid, x, 0) }

// Tanh is the hyperbolic tangent.
func (b *Builder) Tanh(x Tensor) Tensor { return b.activate(author(), ir.Tanh, x, 0) }

func (b *Builder) activate(pos ir.Pos, f ir.Function, x Tensor, slope float64) Tensor {
	if !b.usable(pos, string(f), x) {
		return b.failed()
	}
	return b.unary(pos, string(f), x, x.kind(), x.shape(), func(x, y ir.Ref) ir.Kernel {
		return &ir.Activate{X: x, Y: y, Activation: f, Slope: slope}
	})
}

// Add is the sum of two tensors of one shape.
func (b *Builder) Add(x, y Tensor) Tensor {
	return b.binary(author(), "add", x, y, func(x, y, z ir.Ref) ir.Kernel { return &ir.Add{A: x, B: y, Y: z} })
}

// Multiply is the product, element by element, of two tensors of one shape.
func (b *Builder) Multiply(x, y Tensor) Tensor {
	return b.binary(author(), "multiply", x, y, func(x, y, z ir.Ref) ir.Kernel { return &ir.Multiply{A: x, B: y, Y: z} })
}

func (b *Builder) binary(pos ir.Pos, role string, x, y Tensor, kernel func(x, y, z ir.Ref) ir.Kernel) Tensor {
	if !b.usable(pos, role, x, y) {
		return b.failed()
	}
	if !x.same(y) {
		b.core.mistake(pos, role, fmt.Sprintf("the operands are %s and %s", x.describe(), y.describe()), "both must have one shape; project one of them first")
		return b.failed()
	}
	return b.unary(pos, role, x, x.kind(), x.shape(), func(x, z ir.Ref) ir.Kernel { return kernel(x, y.ref, z) })
}

// Scale is factor * x.
func (b *Builder) Scale(x Tensor, factor float64) Tensor {
	pos := author()
	if !b.usable(pos, "scale", x) {
		return b.failed()
	}
	return b.unary(pos, "scale", x, x.kind(), x.shape(), func(x, y ir.Ref) ir.Kernel {
		return &ir.Scale{X: x, Y: y, Factor: factor}
	})
}

// Softmax is taken over the last dimension.
func (b *Builder) Softmax(x Tensor) Tensor {
	pos := author()
	if !b.usable(pos, "softmax", x) {
		return b.failed()
	}
	if x.kind() == mapKind {
		b.core.mistake(pos, "softmax", fmt.Sprintf("the input is %s", x.describe()), "softmax runs over the last dimension: use a vector, rows or matrices")
		return b.failed()
	}
	return b.unary(pos, "softmax", x, x.kind(), x.shape(), func(x, y ir.Ref) ir.Kernel { return &ir.Softmax{X: x, Y: y} })
}

// Parameter declares a trainable tensor to use by itself, starting at value
// everywhere. A parameter that nothing uses keeps an absent gradient.
func (b *Builder) Parameter(name string, value float64, shape ...int) Tensor {
	pos := author()
	for _, s := range shape {
		if s < 1 {
			b.core.mistake(pos, "parameter", fmt.Sprintf("%s has a size of %d", name, s), "use sizes of 1 or more")
			return b.failed()
		}
	}
	ref, ok := b.parameter(pos, "parameter", name, append([]int{}, shape...), ir.Initialise{Value: value})
	if !ok {
		return b.failed()
	}
	return Tensor{core: b.core, ref: ref}
}
