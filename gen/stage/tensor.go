package stage

import (
	"github.com/reprise-ml/reprise/gen/ir"
)

// Tensor is a symbolic value of the stage under construction.
type Tensor struct {
	core *core
	ref  ir.Ref
}

// Size is one size of a declared shape: a number or one of Batch, Height and
// Width.
type Size int

// The sizes that a stage leaves open until it is called.
const (
	Batch  Size = -1
	Height Size = -2
	Width  Size = -3
)

// sizeKinds is above the kinds of open sizes: -s is the kind, 1 to 3, plus
// sizeKinds times the divisor of a size that Over made.
const sizeKinds = 4

// Over is an open size divided by a whole number, as the maps of a feature
// pyramid have it: Height.Over(8). The stage's Multiple must let it come out
// even.
func (s Size) Over(divisor int) Size {
	if s >= 0 || s == Batch || divisor < 1 {
		return 0 // no size, which the declaration that uses it reports
	}
	kind, before := s.open()
	return -Size(kind + sizeKinds*before*divisor)
}

// open takes an open size apart.
func (s Size) open() (kind, divisor int) { return -int(s) % sizeKinds, max(-int(s)/sizeKinds, 1) }

// Shape is the declared shape of an input.
type Shape []Size

// Shape gives the sizes of a tensor; none for the result of a mistake.
func (t Tensor) Shape() []ir.Dim {
	if t.core == nil || t.ref == 0 {
		return nil
	}
	return append([]ir.Dim(nil), t.core.stage.Tensor(t.ref).Shape...)
}

// Channels is the number of channels of a map (N, C, H, W) or features of a
// vector (N, C); 0 for the result of a mistake.
func (t Tensor) Channels() int {
	shape := t.Shape()
	if len(shape) < 2 {
		return 0
	}
	c, _ := shape[1].Constant()
	return c
}

func (t Tensor) shape() []ir.Dim { return t.core.stage.Tensor(t.ref).Shape }

func (t Tensor) kind() kind { return t.core.kinds[t.ref] }

// same tells whether two tensors have the same kind and shape.
func (t Tensor) same(o Tensor) bool {
	return t.kind() == o.kind() && ir.EqualShapes(t.shape(), o.shape())
}

// describe prints kind and shape for messages.
func (t Tensor) describe() string { return t.kind().noun() + " " + ir.ShapeText(t.shape()) }

// kind says how the dimensions of a tensor are to be read.
type kind string

const (
	mapKind      kind = "map"      // (N, C, H, W)
	rowsKind     kind = "rows"     // (N, R, C): anchors
	vectorKind   kind = "vector"   // (N, C)
	matricesKind kind = "matrices" // (N, g, R, C)
	freeKind     kind = "tensor"   // a parameter used by itself
	scalarKind   kind = "scalar"   // (1): one number
)

// noun is the kind with its article; rows and matrices are plurals.
func (k kind) noun() string {
	if k == rowsKind || k == matricesKind {
		return string(k)
	}
	return "a " + string(k)
}
