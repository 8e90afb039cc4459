package templates

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// matrices is an operand as {outer batch, inner batch, rows, columns}.
type matrices struct {
	extent, stride [4]ir.Dim
}

// matrices sees a tensor of 2 to 4 dimensions as matrices, its last two
// dimensions swapped on request.
func (b *builder) matrices(r ir.Ref, transpose bool) (matrices, error) {
	t := b.stage.Tensor(r)
	if len(t.Shape) < 2 || len(t.Shape) > 4 {
		return matrices{}, fmt.Errorf("%s has shape %s; 2 to 4 dimensions are needed", t.Name, ir.ShapeText(t.Shape))
	}
	var m matrices
	first := 4 - len(t.Shape)
	for i := range m.extent {
		m.extent[i] = ir.Const(1)
		if i >= first {
			m.extent[i], m.stride[i] = t.Shape[i-first], t.Strides[i-first]
		}
		if isOne(m.extent[i]) && i < 2 {
			m.stride[i] = ir.Dim{} // one matrix serves the whole batch
		}
	}
	if transpose {
		m.extent[2], m.extent[3] = m.extent[3], m.extent[2]
		m.stride[2], m.stride[3] = m.stride[3], m.stride[2]
	}
	return m, nil
}

// matmulTile picks a tile of Y, and whether the depth is walked in long steps:
// where large tiles would leave half of the multiprocessors of a large GPU
// without work, smaller ones and a shared memory that holds more of the depth.
func (b *builder) matmulTile(y matrices, depth ir.Dim) (bm, bn int, deep bool, err error) {
	bm, bn = 64, 64
	if v, ok := y.extent[3].Constant(); ok {
		bn = columns(v)
	}
	tiles, err := Times(Ceiling(Size(y.extent[2]), Number(bm)), Ceiling(Size(y.extent[3]), Number(bn)), Size(y.extent[0].Mul(y.extent[1]))).Eval(b.nominal)
	if err != nil {
		return 0, 0, false, err
	}
	if rows, ok := y.extent[2].Constant(); ok && rows <= 32 && bn == 64 {
		bm = 32
	} else if tiles < multiprocessors {
		bn = min(bn, 32)
	}
	d, err := Size(depth).Eval(b.nominal)
	return bm, bn, d > 64 && (bm < 64 || bn < 64), err
}

// matmul: grid rows/BM, columns/BN, batch; block 128.
func (b *builder) matmul(k *ir.MatMul) error {
	a, errA := b.matrices(k.A, k.TransposeA)
	c, errB := b.matrices(k.B, k.TransposeB)
	y, errY := b.matrices(k.Y, false)
	for _, err := range []error{errA, errB, errY} {
		if err != nil {
			return err
		}
	}
	if !a.extent[3].Equal(c.extent[2]) || !a.extent[2].Equal(y.extent[2]) || !c.extent[3].Equal(y.extent[3]) {
		return fmt.Errorf("%s times %s is not %s", ir.ShapeText(a.extent[2:]), ir.ShapeText(c.extent[2:]), ir.ShapeText(y.extent[2:]))
	}
	for i := range 2 {
		for _, m := range []matrices{a, c} {
			if !m.extent[i].Equal(y.extent[i]) && !isOne(m.extent[i]) {
				return fmt.Errorf("batch %s does not go with batch %s", ir.ShapeText(m.extent[:2]), ir.ShapeText(y.extent[:2]))
			}
		}
	}
	types, err := b.types(k.A, k.B, k.Y)
	if err != nil {
		return err
	}
	bm, bn, deep, err := b.matmulTile(y, a.extent[3])
	if err != nil {
		return err
	}
	if k.Bias != 0 {
		columnsOfY, _ := y.extent[3].Constant()
		if err := b.vectors(columnsOfY, k.Bias); err != nil {
			return err
		}
	}
	aByDepth, bByDepth := isOne(a.stride[2]) && !isOne(a.stride[3]), isOne(c.stride[3]) && !isOne(c.stride[2])
	fields := []field{{"a", b.matrixText(k.A, a)}, {"b", b.matrixText(k.B, c)}, {"y", b.matrixText(k.Y, y)}, {"bias", b.address(k.Bias)},
		{"extent", fmt.Sprintf("{%s, %s, %s, %s}", dimText(y.extent[0]), dimText(y.extent[1]), dimText(y.extent[2]), dimText(y.extent[3]))},
		{"depth", dimText(a.extent[3])}}
	grid := [3]Expr{Ceiling(Size(y.extent[2]), Number(bm)), Ceiling(Size(y.extent[3]), Number(bn)), Size(y.extent[0].Mul(y.extent[1]))}
	b.add("matmul", "matmul", "matmul", tileThreads, grid, Expr{}, fields,
		"element", "tf32", "index_t", bm, bn, deep, aByDepth, bByDepth,
		b.copies(k.A, a, aByDepth, 2, 3), b.copies(k.B, c, bByDepth, 3, 2), b.pairs(k.Y, y), k.Bias != 0, k.Accumulate, Bits(k.Alpha), types[0], types[1], types[2])
	return nil
}

// copies says how the tiles of an operand come: in 16-byte copies when the
// dimension that the tile keeps together is contiguous, and these are aligned at
// every size or at the sizes of a call.
func (b *builder) copies(r ir.Ref, m matrices, byDepth bool, row, depth int) string {
	inner := depth
	if byDepth {
		inner = row
	}
	return copyKind(b.stage.Tensor(r).Elem == ir.Activation && isOne(m.stride[inner]), b.aligned(r, m, inner, 8))
}

// pairs says the same of the stores of two neighbouring results.
func (b *builder) pairs(r ir.Ref, m matrices) string {
	return copyKind(isOne(m.stride[3]), b.aligned(r, m, 3, 2))
}

func copyKind(contiguous, aligned bool) string {
	switch {
	case !contiguous:
		return "single_copies"
	case !aligned:
		return "checked_copies"
	}
	return "vector_copies"
}

// aligned tells whether every row of an operand starts at a multiple of v.
func (b *builder) aligned(r ir.Ref, m matrices, inner, v int) bool {
	if _, ok := b.stage.Tensor(r).Offset.Divide(v, b.stage.Multiple); !ok {
		return false
	}
	for i, s := range m.stride {
		if _, ok := s.Divide(v, b.stage.Multiple); i != inner && !isOne(m.extent[i]) && !ok {
			return false
		}
	}
	return true
}

func (b *builder) matrixText(r ir.Ref, m matrices) string {
	return fmt.Sprintf("{%s, {%s, %s, %s, %s}}", b.address(r), dimText(m.stride[0]), dimText(m.stride[1]), dimText(m.stride[2]), dimText(m.stride[3]))
}
