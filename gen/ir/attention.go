package ir

// This file holds attention and its gradients as one kernel each, which keep no
// matrix of scores (FlashAttention: fast and memory-efficient exact attention with
// IO-awareness, NeurIPS 2022).

func init() {
	register(func() Kernel { return new(Attention) })
	register(func() Kernel { return new(AttentionGradient) })
}

// The widths of keys and values that kernels of attention serve.
const (
	MaxKeyWidth   = 64
	MaxValueWidth = 128
)

// Attention is Y = P V, where the rows of P are the softmax of those of
// S = Alpha Q K^T, for every combination of the leading dimensions. Operands are
// (..., positions, width); a transposed one is (..., width, positions). LogSum keeps
// the logarithm of the sum of exponentials of each row of S for the backward pass,
// from which P is computed again: P = exp(S - LogSum).
type Attention struct {
	Q      Ref `json:"q"`      // (..., queries, key width)
	K      Ref `json:"k"`      // (..., keys, key width)
	V      Ref `json:"v"`      // (..., keys, value width)
	Y      Ref `json:"y"`      // (..., queries, value width)
	LogSum Ref `json:"logSum"` // (..., queries)

	Alpha      float64 `json:"alpha,omitempty"` // above 0
	TransposeQ bool    `json:"transposeQ,omitempty"`
	TransposeK bool    `json:"transposeK,omitempty"`
	TransposeV bool    `json:"transposeV,omitempty"`
	TransposeY bool    `json:"transposeY,omitempty"`
}

// Kind implements Kernel.
func (*Attention) Kind() string { return "attention" }

// Operands implements Kernel.
func (k *Attention) Operands(visit func(string, *Ref, Access)) {
	visit("q", &k.Q, Read)
	visit("k", &k.K, Read)
	visit("v", &k.V, Read)
	visit("y", &k.Y, Write)
	visit("logSum", &k.LogSum, Write)
}

// Products is the number of multiply-accumulates of S and of Y.
func (k *Attention) Products(s *Stage) (scores, mixed Dim) {
	keys := positionsOf(s.Tensor(k.K).Shape, k.TransposeK)
	return Elements(s.Tensor(k.Q).Shape).Mul(keys), Elements(s.Tensor(k.Y).Shape).Mul(keys)
}

// positionsOf is the number of positions of an operand.
func positionsOf(shape []Dim, transposed bool) Dim {
	if transposed {
		return shape[len(shape)-1]
	}
	return shape[len(shape)-2]
}

// AttentionGradient gives the gradients of Attention that are wanted, one at
// least; they share no element. With dP = DY V^T and, row by row,
// dS = P (dP - sum of DY*Y), they are DQ = Alpha dS K, DK = Alpha dS^T Q and
// DV = P^T DY. Gradients are transposed as what they are of.
type AttentionGradient struct {
	Q      Ref `json:"q"`
	K      Ref `json:"k"`
	V      Ref `json:"v"`
	Y      Ref `json:"y"`
	LogSum Ref `json:"logSum"`
	DY     Ref `json:"dY"`
	DQ     Ref `json:"dQ,omitempty"`
	DK     Ref `json:"dK,omitempty"`
	DV     Ref `json:"dV,omitempty"`

	Alpha       float64 `json:"alpha,omitempty"`
	TransposeQ  bool    `json:"transposeQ,omitempty"`
	TransposeK  bool    `json:"transposeK,omitempty"`
	TransposeV  bool    `json:"transposeV,omitempty"`
	TransposeY  bool    `json:"transposeY,omitempty"`
	AccumulateQ bool    `json:"accumulateQ,omitempty"` // add to the result in place of replacing it
	AccumulateK bool    `json:"accumulateK,omitempty"`
	AccumulateV bool    `json:"accumulateV,omitempty"`
}

// Kind implements Kernel.
func (*AttentionGradient) Kind() string { return "attention_gradient" }

// Operands implements Kernel.
func (k *AttentionGradient) Operands(visit func(string, *Ref, Access)) {
	visit("q", &k.Q, Read)
	visit("k", &k.K, Read)
	visit("v", &k.V, Read)
	visit("y", &k.Y, Read)
	visit("logSum", &k.LogSum, Read)
	visit("dY", &k.DY, Read)
	visit("dQ", &k.DQ, writing(k.AccumulateQ))
	visit("dK", &k.DK, writing(k.AccumulateK))
	visit("dV", &k.DV, writing(k.AccumulateV))
}

// Products is the number of multiply-accumulates of the gradients that are wanted, of
// S, and of dP if one of queries or keys is among them; each counts once, although
// kernels compute some of them again in place of keeping them.
func (k *AttentionGradient) Products(s *Stage) Dim {
	scores, mixed := (&Attention{Q: k.Q, K: k.K, Y: k.Y, TransposeK: k.TransposeK}).Products(s)
	total := scores
	if k.DQ != 0 || k.DK != 0 {
		total = total.Add(mixed)
	}
	for _, d := range []Ref{k.DQ, k.DK} {
		if d != 0 {
			total = total.Add(scores)
		}
	}
	if k.DV != 0 {
		total = total.Add(mixed)
	}
	return total
}
