package ir

import "strconv"

// This file holds the kernels of linear algebra that optimizers need: sums with
// factors that are read when the plan runs, and norms of matrices.

func init() {
	register(func() Kernel { return new(LinearCombination) })
	register(func() Kernel { return new(NormalizeMatrices) })
}

// MaxTerms is how many summands a LinearCombination has at most.
const MaxTerms = 3

// LinearCombination is Y = sum over i of Coefficients[i] * Factors[i] * Xs[i],
// added up in the order of the terms. A factor is one number in memory, read at
// every launch, so that what varies between steps is never part of a recording.
// A term whose coefficient or factor is zero is left out and its operand not
// read, as in BLAS: zero times NaN does not enter the sum.
type LinearCombination struct {
	Xs      []Ref `json:"xs"`      // 1 to MaxTerms, as Y
	Factors []Ref `json:"factors"` // one per term, of one element; 0 for the factor 1
	Y       Ref   `json:"y"`

	Coefficients []float64 `json:"coefficients"` // one per term
	Accumulate   bool      `json:"accumulate,omitempty"`
}

// Kind implements Kernel.
func (*LinearCombination) Kind() string { return "linear_combination" }

// Operands implements Kernel.
func (k *LinearCombination) Operands(visit func(string, *Ref, Access)) {
	for i := range k.Xs {
		visit("x"+strconv.Itoa(i), &k.Xs[i], Read)
	}
	for i := range k.Factors {
		visit("factor"+strconv.Itoa(i), &k.Factors[i], Read)
	}
	visit("y", &k.Y, writing(k.Accumulate))
}

// NormalizeMatrices divides every matrix, the last two dimensions of X, by its
// Frobenius norm: Y = X / (norm + Epsilon). A zero matrix gives zero.
type NormalizeMatrices struct {
	X Ref `json:"x"` // (..., R, C)
	Y Ref `json:"y"` // as X

	Epsilon float64 `json:"epsilon"` // above 0
}

// Kind implements Kernel.
func (*NormalizeMatrices) Kind() string { return "normalize_matrices" }

// Operands implements Kernel.
func (k *NormalizeMatrices) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("y", &k.Y, Write)
}
