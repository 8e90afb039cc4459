package templates

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// combination: y from up to three inputs; grid elements/V / 256, block 256.
func (b *builder) combination(k *ir.LinearCombination) error {
	terms := len(k.Xs)
	if terms < 1 || terms > ir.MaxTerms || len(k.Factors) != terms || len(k.Coefficients) != terms {
		return fmt.Errorf("%d terms, %d factors and %d coefficients; all must be the same number, 1 to %d", terms, len(k.Factors), len(k.Coefficients), ir.MaxTerms)
	}
	refs := append([]ir.Ref{k.Y}, k.Xs...)
	f, err := b.flatten(-1, true, refs...)
	if err != nil {
		return err
	}
	types, err := b.types(refs...)
	if err != nil {
		return err
	}
	factor := "float"
	fields := []field{{"y", b.tensorText(f, k.Y)}, {"extent", extentText(f)}}
	var coefficients, has [ir.MaxTerms]any
	for i := range ir.MaxTerms {
		coefficients[i], has[i] = Bits(0), false
		if i >= terms {
			types = append(types, "float")
			continue
		}
		coefficients[i] = Bits(k.Coefficients[i])
		fields = append(fields, field{fmt.Sprintf("x[%d]", i), b.tensorText(f, k.Xs[i])})
		if r := k.Factors[i]; r != 0 {
			if factor, err = b.factor(r); err != nil {
				return err
			}
			has[i], fields = true, append(fields, field{fmt.Sprintf("factor[%d]", i), b.address(r)})
		}
	}
	grid := grid1(Ceiling(Ceiling(Times(f.rows(), Size(f.extent[3])), Number(f.vector)), Number(256)))
	constants := append([]any{terms}, append(coefficients[:], has[:]...)...)
	constants = append(constants, k.Accumulate, "index_t", f.rank(), f.vector, factor)
	b.add("combination", "combination", "combination", 256, grid, Expr{}, fields, append(constants, types...)...)
	return nil
}

// factor gives the C++ type of a factor, which is one element. All factors of
// an operation are inputs of one kind.
func (b *builder) factor(r ir.Ref) (string, error) {
	if t := b.stage.Tensor(r); !ir.Elements(t.Shape).Equal(ir.Const(1)) {
		return "", fmt.Errorf("the factor %s has shape %s; it must be one element", t.Name, ir.ShapeText(t.Shape))
	}
	if err := b.need(ir.Activation, r); err != nil {
		return "", err
	}
	return b.typeOf(r)
}

// matrixSpan is how many elements of a matrix one block takes.
const matrixSpan = 4096

// normalizeMatrices has two launches.
//
//	kernel               grid                       block  scratch
//	matrix_norm_partial  elements/4096, matrices    128    parts * matrices * 4
//	matrix_normalize     elements/4096, matrices    128
func (b *builder) normalizeMatrices(k *ir.NormalizeMatrices) error {
	if rank := len(b.stage.Tensor(k.Y).Shape); rank < 2 {
		return fmt.Errorf("%s has %d dimensions; a matrix needs 2", b.stage.Tensor(k.Y).Name, rank)
	}
	f, err := b.ordered(k.Y, k.X)
	if err != nil {
		return err
	}
	types, err := b.types(k.X, k.Y)
	if err != nil {
		return err
	}
	parts := Ceiling(Size(f.extent[2].Mul(f.extent[3])), Number(matrixSpan))
	matrices := Size(f.extent[0].Mul(f.extent[1]))
	fields := []field{{"x", b.tensorText(f, k.X)}, {"y", b.tensorText(f, k.Y)}, {"extent", extentText(f)}, {"partial", "c->scratch[lane]"}, {"parts", "(int32_t)(" + parts.C() + ")"}}
	grid := [3]Expr{parts, matrices, Number(1)}
	b.add("matrix_norm", "matrix_norm_partial", "matrix_norm", 128, grid, Times(Times(parts, matrices), Number(4)), fields, matrixSpan, "index_t", types[0])
	b.add("matrix_norm", "matrix_normalize", "matrix_norm", 128, grid, Expr{}, fields, matrixSpan, Bits(k.Epsilon), "index_t", types[0], types[1])
	return nil
}
