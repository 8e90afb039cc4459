package ir

// This file holds the kernels of forward passes that look at more than one
// element: windows, maps, rows and products.

func init() {
	register(func() Kernel { return new(MaxPool) })
	register(func() Kernel { return new(AveragePool) })
	register(func() Kernel { return new(Upsample) })
	register(func() Kernel { return new(MatMul) })
	register(func() Kernel { return new(Softmax) })
	register(func() Kernel { return new(Dropout) })
}

// MaxPool takes the largest element of each window, padded with -inf; Index
// keeps which one (row-major position in the window, first of equals) for the
// backward pass.
type MaxPool struct {
	X     Ref `json:"x"`               // (N, C, H, W)
	Y     Ref `json:"y"`               // (N, C, H/Stride, W/Stride)
	Index Ref `json:"index,omitempty"` // as Y

	Kernel  int `json:"kernel,omitempty"`
	Stride  int `json:"stride,omitempty"`
	Padding int `json:"padding,omitempty"`
}

// Kind implements Kernel.
func (*MaxPool) Kind() string { return "max_pool" }

// Operands implements Kernel.
func (k *MaxPool) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("y", &k.Y, Write)
	visit("index", &k.Index, Write)
}

// AveragePool is the mean over each whole map: (N, C, H, W) to (N, C).
type AveragePool struct {
	X Ref `json:"x"`
	Y Ref `json:"y"`
}

// Kind implements Kernel.
func (*AveragePool) Kind() string { return "average_pool" }

// Operands implements Kernel.
func (k *AveragePool) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("y", &k.Y, Write)
}

// Upsample repeats the nearest element: source = floor(target * in / out).
type Upsample struct {
	X Ref `json:"x"` // (N, C, h, w)
	Y Ref `json:"y"` // (N, C, H, W)
}

// Kind implements Kernel.
func (*Upsample) Kind() string { return "upsample" }

// Operands implements Kernel.
func (k *Upsample) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("y", &k.Y, Write)
}

// MatMul is Y[..., i, j] = Alpha * sum over k of A[..., i, k] B[..., k, j] (+ Bias[j]),
// with the leading dimensions as batch; a transposed operand swaps its last two.
type MatMul struct {
	A    Ref `json:"a"`
	B    Ref `json:"b"`
	Bias Ref `json:"bias,omitempty"` // (columns of Y)
	Y    Ref `json:"y"`

	TransposeA bool    `json:"transposeA,omitempty"`
	TransposeB bool    `json:"transposeB,omitempty"`
	Alpha      float64 `json:"alpha,omitempty"`
	Accumulate bool    `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*MatMul) Kind() string { return "matmul" }

// Operands implements Kernel.
func (k *MatMul) Operands(visit func(string, *Ref, Access)) {
	visit("a", &k.A, Read)
	visit("b", &k.B, Read)
	visit("bias", &k.Bias, Read)
	visit("y", &k.Y, writing(k.Accumulate))
}

// Softmax is taken over the last dimension of X.
type Softmax struct {
	X Ref `json:"x"`
	Y Ref `json:"y"`
}

// Kind implements Kernel.
func (*Softmax) Kind() string { return "softmax" }

// Operands implements Kernel.
func (k *Softmax) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("y", &k.Y, Write)
}

// Dropout zeroes elements with Probability and scales the others by
// 1/(1-Probability); Mask keeps the factor of each element. State is the
// generator on the device: seed and number of draws taken so far.
type Dropout struct {
	X     Ref `json:"x"`
	State Ref `json:"state"` // 2 counters
	Mask  Ref `json:"mask"`  // as X
	Y     Ref `json:"y"`     // as X

	Probability float64 `json:"probability,omitempty"`
}

// Kind implements Kernel.
func (*Dropout) Kind() string { return "dropout" }

// Operands implements Kernel.
func (k *Dropout) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("state", &k.State, Update)
	visit("mask", &k.Mask, Write)
	visit("y", &k.Y, Write)
}
