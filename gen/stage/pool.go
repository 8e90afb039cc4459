package stage

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Pool describes a max-pool window.
type Pool struct {
	Kernel  int
	Stride  int // 0 means 1
	Padding int // with -inf
}

// MaxPool takes the largest element of each window of a map.
func (b *Builder) MaxPool(x Tensor, p Pool) Tensor {
	pos := author()
	p.Stride = max(p.Stride, 1)
	if !b.usable(pos, "max_pool", x) {
		return b.failed()
	}
	if x.kind() != mapKind || p.Kernel < 1 || p.Padding < 0 || 2*p.Padding > p.Kernel {
		b.core.mistake(pos, "max_pool", fmt.Sprintf("a window of %d with padding %d over %s", p.Kernel, p.Padding, x.describe()), "use a map, a window of 1 or more and padding of at most half of it")
		return b.failed()
	}
	shape, ok := b.strided(pos, "max_pool", x, x.Channels(), p.Kernel, p.Stride, p.Padding)
	if !ok {
		return b.failed()
	}
	name := b.opName("max_pool")
	y := b.value(name, mapKind, shape)
	index := b.core.stage.AddTensor(ir.Tensor{Name: name + ".index", Shape: shape, Elem: ir.Index, Map: true})
	b.record(pos, name, ir.Always, &ir.MaxPool{X: x.ref, Y: y, Index: index, Kernel: p.Kernel, Stride: p.Stride, Padding: p.Padding})
	return Tensor{core: b.core, ref: y}
}

// GlobalAveragePool is the mean of each whole map: (N, C, H, W) to (N, C).
func (b *Builder) GlobalAveragePool(x Tensor) Tensor {
	pos := author()
	if !b.usable(pos, "average_pool", x) {
		return b.failed()
	}
	if x.kind() != mapKind {
		b.core.mistake(pos, "average_pool", fmt.Sprintf("the input is %s", x.describe()), "it takes a map (N, C, H, W)")
		return b.failed()
	}
	s := x.shape()
	return b.unary(pos, "average_pool", x, vectorKind, []ir.Dim{s[0], s[1]}, func(x, y ir.Ref) ir.Kernel { return &ir.AveragePool{X: x, Y: y} })
}

// Upsample doubles height and width of a map by repeating elements.
func (b *Builder) Upsample(x Tensor) Tensor {
	pos := author()
	if !b.usable(pos, "upsample", x) {
		return b.failed()
	}
	if x.kind() != mapKind {
		b.core.mistake(pos, "upsample", fmt.Sprintf("the input is %s", x.describe()), "it takes a map (N, C, H, W)")
		return b.failed()
	}
	s := x.shape()
	return b.upsample(pos, x, s[2].Times(2), s[3].Times(2))
}

// UpsampleTo brings a map to the height and width of like by repeating
// elements: source = floor(target * in / out).
func (b *Builder) UpsampleTo(x, like Tensor) Tensor {
	pos := author()
	if !b.usable(pos, "upsample", x, like) {
		return b.failed()
	}
	if x.kind() != mapKind || like.kind() != mapKind {
		b.core.mistake(pos, "upsample", fmt.Sprintf("the operands are %s and %s", x.describe(), like.describe()), "both must be maps (N, C, H, W)")
		return b.failed()
	}
	l := like.shape()
	return b.upsample(pos, x, l[2], l[3])
}

func (b *Builder) upsample(pos ir.Pos, x Tensor, height, width ir.Dim) Tensor {
	s := x.shape()
	return b.unary(pos, "upsample", x, mapKind, []ir.Dim{s[0], s[1], height, width}, func(x, y ir.Ref) ir.Kernel { return &ir.Upsample{X: x, Y: y} })
}
