package stage

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Term is one summand of a linear combination: Factor * By * X.
type Term struct {
	X      Tensor
	Factor float64 // a constant of the stage; 0 means 1
	By     Tensor  // a number from Builder.Scalar, read whenever the stage runs; the zero Tensor means 1
}

// LinearCombination is the sum of one to three terms of one shape, added up in
// the order given. A term whose number By is zero when the stage runs is left
// out, so that zero times NaN does not enter the sum. It is differentiable in
// every X; a By has no gradient.
func (b *Builder) LinearCombination(terms ...Term) Tensor {
	const op = "linear_combination"
	pos := author()
	if len(terms) == 0 || len(terms) > ir.MaxTerms {
		b.core.mistake(pos, op, fmt.Sprintf("it has %d terms", len(terms)), fmt.Sprintf("give 1 to %d", ir.MaxTerms))
		return b.failed()
	}
	kernel := &ir.LinearCombination{}
	for i, t := range terms {
		if !b.term(pos, op, i, t, terms[0].X) {
			return b.failed()
		}
		if t.Factor == 0 {
			t.Factor = 1
		}
		kernel.Xs, kernel.Factors = append(kernel.Xs, t.X.ref), append(kernel.Factors, t.By.ref)
		kernel.Coefficients = append(kernel.Coefficients, t.Factor)
	}
	first := terms[0].X
	return b.unary(pos, op, first, first.kind(), first.shape(), func(_, y ir.Ref) ir.Kernel {
		kernel.Y = y
		return kernel
	})
}

// term reports what is wrong with one summand.
func (b *Builder) term(pos ir.Pos, op string, i int, t Term, first Tensor) bool {
	if !b.usable(pos, op, t.X) {
		return false
	}
	if !t.X.same(first) {
		b.core.mistake(pos, op, fmt.Sprintf("term %d is %s beside %s", i+1, t.X.describe(), first.describe()), "all terms must have one shape")
		return false
	}
	if t.By == (Tensor{}) {
		return true
	}
	if !b.usable(pos, op, t.By) {
		return false
	}
	if t.By.kind() != scalarKind {
		b.core.mistake(pos, op, fmt.Sprintf("term %d is multiplied by %s", i+1, t.By.describe()), "a factor is a number from Builder.Scalar")
		return false
	}
	return true
}

// MatMulAdd is beta * addend + Alpha * A B, the general matrix product of BLAS;
// see MatMul for x, y and p. addend has the shape of the product.
func (b *Builder) MatMulAdd(addend Tensor, beta float64, x, y Tensor, p Product) Tensor {
	const op = "matmul_add"
	pos := author()
	if !b.usable(pos, op, addend, x, y) {
		return b.failed()
	}
	if p.Alpha == 0 {
		p.Alpha = 1
	}
	shape, problem := productShape(x, y, p)
	if problem == "" && (addend.kind() != x.kind() || !ir.EqualShapes(addend.shape(), shape)) {
		problem = fmt.Sprintf("the addend is %s, the product has shape %s", addend.describe(), ir.ShapeText(shape))
	}
	if problem != "" {
		b.core.mistake(pos, op, problem, "check the operands and their transposition")
		return b.failed()
	}
	// The sum starts as the scaled addend, and the product is added to it.
	sum := b.unary(pos, op+".addend", addend, addend.kind(), shape, func(x, y ir.Ref) ir.Kernel {
		return &ir.Scale{X: x, Y: y, Factor: beta}
	})
	b.record(pos, b.opName(op), ir.Always, &ir.MatMul{
		A: x.ref, B: y.ref, Y: sum.ref, TransposeA: p.TransposeA, TransposeB: p.TransposeB, Alpha: p.Alpha, Accumulate: true,
	})
	return sum
}

// NormalizeMatrices divides each matrix of rows (M, R, C) or matrices
// (N, g, R, C) by its Frobenius norm plus epsilon, which is above 0. It has no
// gradient: nothing that it depends on may be a parameter or a differentiable
// input.
func (b *Builder) NormalizeMatrices(x Tensor, epsilon float64) Tensor {
	const op = "normalize_matrices"
	pos := author()
	if !b.usable(pos, op, x) {
		return b.failed()
	}
	if x.kind() != rowsKind && x.kind() != matricesKind {
		b.core.mistake(pos, op, fmt.Sprintf("the input is %s", x.describe()), "it takes rows or matrices")
		return b.failed()
	}
	if !(epsilon > 0) {
		b.core.mistake(pos, op, fmt.Sprintf("epsilon is %g", epsilon), "use a number above 0, which keeps a zero matrix finite")
		return b.failed()
	}
	return b.unary(pos, op, x, x.kind(), x.shape(), func(x, y ir.Ref) ir.Kernel {
		return &ir.NormalizeMatrices{X: x, Y: y, Epsilon: epsilon}
	})
}
