package ir

import "strconv"

// This file holds the operations that authors write and that the passes turn
// into kernels of the other files: none of them is left in a finished plan.

func init() {
	register(func() Kernel { return new(Concat) })
	register(func() Kernel { return new(BatchNorm) })
	register(func() Kernel { return new(Slice) })
	register(func() Kernel { return new(Reshape) })
}

// BatchNorm normalises X over batch and map per channel: batch statistics in
// training, running statistics in evaluation.
type BatchNorm struct {
	X           Ref `json:"x"`           // (N, C, ...)
	Scale       Ref `json:"scale"`       // gamma (C)
	Shift       Ref `json:"shift"`       // beta (C)
	RunningMean Ref `json:"runningMean"` // (C)
	RunningVar  Ref `json:"runningVar"`  // (C), fed the unbiased variance
	Batches     Ref `json:"batches"`     // number of training batches, one counter
	Y           Ref `json:"y"`           // as X

	Epsilon    float64 `json:"epsilon,omitempty"`
	Momentum   float64 `json:"momentum,omitempty"`   // weight of the new batch in the running statistics
	Cumulative bool    `json:"cumulative,omitempty"` // plain average over all batches in place of Momentum
}

// Kind implements Kernel.
func (*BatchNorm) Kind() string { return "batch_norm" }

// Operands implements Kernel.
func (k *BatchNorm) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("scale", &k.Scale, Read)
	visit("shift", &k.Shift, Read)
	visit("runningMean", &k.RunningMean, Update)
	visit("runningVar", &k.RunningVar, Update)
	visit("batches", &k.Batches, Update)
	visit("y", &k.Y, Write)
}

// Slice takes Length(Y) entries of X from Start along dimension Axis.
type Slice struct {
	X Ref `json:"x"`
	Y Ref `json:"y"`

	Axis  int `json:"axis,omitempty"`
	Start Dim `json:"start"` // first entry taken
}

// Kind implements Kernel.
func (*Slice) Kind() string { return "slice" }

// Operands implements Kernel.
func (k *Slice) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("y", &k.Y, Write)
}

// Reshape gives X another shape of the same elements, as Form says.
type Reshape struct {
	X Ref `json:"x"`
	Y Ref `json:"y"`

	Form Form `json:"form,omitempty"`
}

// Kind implements Kernel.
func (*Reshape) Kind() string { return "reshape" }

// Operands implements Kernel.
func (k *Reshape) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("y", &k.Y, Write)
}

// Concat joins its inputs along dimension Axis of their shapes.
type Concat struct {
	Xs []Ref `json:"xs"`
	Y  Ref   `json:"y"`

	Axis int `json:"axis"`
}

// Kind implements Kernel.
func (*Concat) Kind() string { return "concat" }

// Operands implements Kernel.
func (k *Concat) Operands(visit func(string, *Ref, Access)) {
	for i := range k.Xs {
		visit("x"+strconv.Itoa(i), &k.Xs[i], Read)
	}
	visit("y", &k.Y, Write)
}

// Form is a change of shape that moves no element in memory when the layout
// allows it.
type Form string

// The forms.
const (
	// Anchors turns a map (N, C, H, W) into rows (N, H*W, C).
	Anchors Form = "anchors"
	// Heads turns a map (N, g*r, H, W) into g matrices (N, g, r, H*W).
	Heads Form = "heads"
	// Map turns matrices (N, g, r, H*W) back into a map (N, g*r, H, W).
	Map Form = "map"
	// Transpose swaps the last two dimensions.
	Transpose Form = "transpose"
)
