package stage

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Product says how a matrix product reads its operands.
type Product struct {
	TransposeA bool
	TransposeB bool
	Alpha      float64 // factor of the result; 0 means 1
}

// MatMul is Alpha * A B over the last two dimensions of matrices or rows;
// leading dimensions must be equal. When A is a vector (N, C), B is a
// parameter of two dimensions.
func (b *Builder) MatMul(x, y Tensor, p Product) Tensor {
	pos := author()
	if !b.usable(pos, "matmul", x, y) {
		return b.failed()
	}
	if p.Alpha == 0 {
		p.Alpha = 1
	}
	shape, problem := productShape(x, y, p)
	if problem != "" {
		b.core.mistake(pos, "matmul", problem, "check the operands and their transposition")
		return b.failed()
	}
	return b.unary(pos, "matmul", x, x.kind(), shape, func(x, z ir.Ref) ir.Kernel {
		return &ir.MatMul{A: x, B: y.ref, Y: z, TransposeA: p.TransposeA, TransposeB: p.TransposeB, Alpha: p.Alpha}
	})
}

func productShape(x, y Tensor, p Product) (shape []ir.Dim, problem string) {
	a, c := x.shape(), y.shape()
	if x.kind() == mapKind || y.kind() == mapKind || x.kind() == freeKind || x.kind() == scalarKind {
		return nil, fmt.Sprintf("the operands are %s and %s, which are not both matrices", x.describe(), y.describe())
	}
	withParameter := x.kind() == vectorKind && y.kind() == freeKind && len(c) == 2 && !p.TransposeA
	if !withParameter && (x.kind() != y.kind() || x.kind() == vectorKind || !ir.EqualShapes(a[:len(a)-2], c[:len(c)-2])) {
		return nil, fmt.Sprintf("the operands are %s and %s", x.describe(), y.describe())
	}
	rows, inner := ends(a, p.TransposeA)
	innerB, columns := ends(c, p.TransposeB)
	if !inner.Equal(innerB) {
		return nil, fmt.Sprintf("the inner sizes are %s and %s", inner, innerB)
	}
	return append(append([]ir.Dim(nil), a[:len(a)-2]...), rows, columns), ""
}

// ends gives the last two sizes, swapped when transposed.
func ends(shape []ir.Dim, transposed bool) (rows, columns ir.Dim) {
	rows, columns = shape[len(shape)-2], shape[len(shape)-1]
	if transposed {
		return columns, rows
	}
	return rows, columns
}
