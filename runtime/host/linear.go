package host

import (
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// linearCombination prepares Y (+)= sum of Coefficient * Factor * X. Factors are
// read when the launch runs.
func (b *binder[T]) linearCombination(k *ir.LinearCombination) launch {
	terms := len(k.Xs)
	if !b.check(terms >= 1 && terms <= ir.MaxTerms && len(k.Factors) == terms && len(k.Coefficients) == terms,
		"%d terms, %d factors and %d coefficients; all must be the same number, 1 to %d", terms, len(k.Factors), len(k.Coefficients), ir.MaxTerms) {
		return nil
	}
	y := b.tensor("y", k.Y)
	var views []view[T]
	var factors [ir.MaxTerms]view[T]
	for i, x := range k.Xs {
		views = append(views, b.like(y, "x", x))
		factors[i] = b.optional("factor", k.Factors[i], 1)
	}
	coefficients := k.Coefficients
	return b.rowwise(k.Accumulate, func(r [][]T, _ []T) {
		out, begun := r[terms], false
		for i := range terms {
			factor := T(coefficients[i])
			if factors[i].data != nil {
				factor *= factors[i].data[0]
			}
			if factor == 0 {
				continue
			}
			addScaled(out, factor, r[i][:len(out)], begun)
			begun = true
		}
		if !begun {
			clear(out)
		}
	}, append(views, y)...)
}

// addScaled sets out to factor * x, or adds it.
func addScaled[E device.Float](out []E, factor E, x []E, add bool) {
	if !add {
		for i, v := range x {
			out[i] = factor * v
		}
		return
	}
	for i, v := range x {
		out[i] += factor * v
	}
}

// normalizeMatrices prepares Y = X / (norm of X + Epsilon) for every matrix of
// the last two dimensions. The sum of squares is taken in float64, in row-major
// order. A task is a matrix.
func (b *binder[T]) normalizeMatrices(k *ir.NormalizeMatrices) launch {
	y := b.tensor("y", k.Y)
	x := b.like(y, "x", k.X)
	rank := len(y.shape)
	if !b.check(rank >= 2, "the operands have %d dimensions; a matrix needs 2", rank) {
		return nil
	}
	matrices := 1
	for _, d := range y.shape[:rank-2] {
		matrices *= d
	}
	epsilon := T(k.Epsilon)
	return launch{{tasks: matrices, run: func(task, _ int) {
		from, to := at(x, task, false), at(y, task, false)
		divisor := T(frobenius(from)) + epsilon
		for i := range from.rows {
			for j := range from.columns {
				to.data[i*to.rowStride+j*to.columnStride] = from.data[i*from.rowStride+j*from.columnStride] / divisor
			}
		}
	}}}
}

// frobenius is the square root of the sum of all squared elements.
func frobenius[E device.Float](m matrix[E]) float64 {
	sum := 0.0
	for i := range m.rows {
		for j := range m.columns {
			v := float64(m.data[i*m.rowStride+j*m.columnStride])
			sum += v * v
		}
	}
	return math.Sqrt(sum)
}
