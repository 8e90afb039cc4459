package stage

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Concat joins maps, rows, vectors or matrices along their channels: the
// second dimension of a map, the last of rows and vectors, the third of
// matrices. Where the layout allows, nothing is copied.
func (b *Builder) Concat(xs ...Tensor) Tensor {
	return b.concat(author(), "concat", xs, func(x Tensor) int { return channelAxis(x.kind()) })
}

// ConcatRows joins rows (N, R, C) one after the other, as the levels of a
// head are joined to anchors.
func (b *Builder) ConcatRows(xs ...Tensor) Tensor {
	return b.concat(author(), "concat_rows", xs, func(x Tensor) int {
		if x.kind() != rowsKind {
			return -1
		}
		return 1
	})
}

// channelAxis is the dimension of the channels.
func channelAxis(k kind) int {
	return map[kind]int{mapKind: 1, rowsKind: 2, vectorKind: 1, matricesKind: 2, freeKind: -1, scalarKind: -1}[k]
}

func (b *Builder) concat(pos ir.Pos, op string, xs []Tensor, axisOf func(Tensor) int) Tensor {
	if !b.usable(pos, op, xs...) {
		return b.failed()
	}
	if len(xs) == 0 {
		b.core.mistake(pos, op, "there is nothing to join", "pass at least one tensor")
		return b.failed()
	}
	axis := axisOf(xs[0])
	if axis < 0 {
		b.core.mistake(pos, op, fmt.Sprintf("the input is %s", xs[0].describe()), "join maps, rows, vectors or matrices; ConcatRows joins rows")
		return b.failed()
	}
	shape := append([]ir.Dim(nil), xs[0].shape()...)
	kernel := &ir.Concat{Axis: axis, Xs: []ir.Ref{xs[0].ref}}
	for i, x := range xs[1:] {
		if x.kind() != xs[0].kind() || !sameBut(shape, x.shape(), axis) {
			b.core.mistake(pos, op, fmt.Sprintf("operand %d is %s beside %s", i+2, x.describe(), xs[0].describe()), "only the joined dimension may differ")
			return b.failed()
		}
		shape[axis] = shape[axis].Add(x.shape()[axis])
		kernel.Xs = append(kernel.Xs, x.ref)
	}
	name := b.opName(op)
	kernel.Y = b.value(name, xs[0].kind(), shape)
	b.record(pos, name, ir.Always, kernel)
	return Tensor{core: b.core, ref: kernel.Y}
}

func sameBut(a, c []ir.Dim, axis int) bool {
	if len(a) != len(c) {
		return false
	}
	for i := range a {
		if i != axis && !a[i].Equal(c[i]) {
			return false
		}
	}
	return true
}

// Split cuts a tensor along its channels into pieces of the given sizes,
// which must add up. Pieces are views.
func (b *Builder) Split(x Tensor, sizes ...int) []Tensor {
	return b.split(author(), "split", x, sizes)
}

// Chunk cuts a tensor along its channels into n equal pieces.
func (b *Builder) Chunk(x Tensor, n int) []Tensor {
	pos := author()
	total := 0
	if b.usable(pos, "chunk", x) {
		total = channels(x)
		if n < 1 || total%n != 0 {
			b.core.mistake(pos, "chunk", fmt.Sprintf("%d channels do not fall into %d equal pieces", total, n), "choose a number that divides the channels")
			total = 0
		}
	}
	if total == 0 {
		pieces := make([]Tensor, max(n, 1))
		for i := range pieces {
			pieces[i] = b.failed()
		}
		return pieces
	}
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = total / n
	}
	return b.split(pos, "chunk", x, sizes)
}

// channels is the number of channels of any kind of tensor, 0 if open.
func channels(x Tensor) int {
	axis := channelAxis(x.kind())
	if axis < 0 {
		return 0
	}
	c, _ := x.shape()[axis].Constant()
	return c
}

func (b *Builder) split(pos ir.Pos, op string, x Tensor, sizes []int) []Tensor {
	pieces := make([]Tensor, len(sizes))
	for i := range pieces {
		pieces[i] = b.failed()
	}
	if !b.usable(pos, op, x) {
		return pieces
	}
	total := 0
	for _, s := range sizes {
		if s < 1 {
			total = -1
			break
		}
		total += s
	}
	if total != channels(x) {
		b.core.mistake(pos, op, fmt.Sprintf("sizes %v of %s", sizes, x.describe()), "sizes must be positive and add up to the channels")
		return pieces
	}
	axis, start := channelAxis(x.kind()), 0
	for i, s := range sizes {
		shape := append([]ir.Dim(nil), x.shape()...)
		shape[axis] = ir.Const(s)
		at := ir.Const(start)
		pieces[i] = b.unary(pos, fmt.Sprintf("%s.%d", op, i), x, x.kind(), shape, func(x, y ir.Ref) ir.Kernel {
			return &ir.Slice{X: x, Y: y, Axis: axis, Start: at}
		})
		start += s
	}
	return pieces
}

// Anchors turns a map (N, C, H, W) into rows (N, H*W, C), row-major.
func (b *Builder) Anchors(x Tensor) Tensor {
	return b.reshape(author(), ir.Anchors, x, mapKind, rowsKind, func(s []ir.Dim) ([]ir.Dim, string) {
		return []ir.Dim{s[0], s[2].Mul(s[3]), s[1]}, ""
	})
}

// Heads turns a map (N, g*r, H, W) into g matrices (N, g, r, H*W): channels
// are head-major.
func (b *Builder) Heads(x Tensor, heads int) Tensor {
	return b.reshape(author(), ir.Heads, x, mapKind, matricesKind, func(s []ir.Dim) ([]ir.Dim, string) {
		c, _ := s[1].Constant()
		if heads < 1 || c%heads != 0 {
			return nil, fmt.Sprintf("%d channels do not fall into %d heads", c, heads)
		}
		return []ir.Dim{s[0], ir.Const(heads), ir.Const(c / heads), s[2].Mul(s[3])}, ""
	})
}

// Map turns matrices (N, g, r, H*W) back into a map (N, g*r, H, W) with the
// height and width of like.
func (b *Builder) Map(x, like Tensor) Tensor {
	pos := author()
	if !b.usable(pos, "map", like) {
		return b.failed()
	}
	l := like.shape()
	return b.reshape(pos, ir.Map, x, matricesKind, mapKind, func(s []ir.Dim) ([]ir.Dim, string) {
		if like.kind() != mapKind || !l[2].Mul(l[3]).Equal(s[3]) {
			return nil, fmt.Sprintf("%s columns are not the positions of %s", s[3], like.describe())
		}
		return []ir.Dim{s[0], s[1].Mul(s[2]), l[2], l[3]}, ""
	})
}

// Transpose swaps the last two dimensions of rows or matrices.
func (b *Builder) Transpose(x Tensor) Tensor {
	pos := author()
	if !b.usable(pos, "transpose", x) {
		return b.failed()
	}
	want := x.kind()
	if want != rowsKind && want != matricesKind {
		want = matricesKind
	}
	return b.reshape(pos, ir.Transpose, x, want, want, func(s []ir.Dim) ([]ir.Dim, string) {
		out := append([]ir.Dim(nil), s...)
		last := len(out) - 1
		out[last], out[last-1] = out[last-1], out[last]
		return out, ""
	})
}

func (b *Builder) reshape(pos ir.Pos, form ir.Form, x Tensor, from, to kind, shape func([]ir.Dim) ([]ir.Dim, string)) Tensor {
	if !b.usable(pos, string(form), x) {
		return b.failed()
	}
	if x.kind() != from {
		b.core.mistake(pos, string(form), fmt.Sprintf("the input is %s", x.describe()), "it takes "+from.noun())
		return b.failed()
	}
	out, problem := shape(x.shape())
	if problem != "" {
		b.core.mistake(pos, string(form), problem, "check the sizes")
		return b.failed()
	}
	return b.unary(pos, string(form), x, to, out, func(x, y ir.Ref) ir.Kernel { return &ir.Reshape{X: x, Y: y, Form: form} })
}
