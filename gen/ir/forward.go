package ir

// This file holds the kernels of forward passes.

func init() {
	register(func() Kernel { return new(Conv2d) })
	register(func() Kernel { return new(BatchStatistics) })
	register(func() Kernel { return new(RunningStatistics) })
	register(func() Kernel { return new(Normalize) })
	register(func() Kernel { return new(Activate) })
	register(func() Kernel { return new(Add) })
	register(func() Kernel { return new(Multiply) })
	register(func() Kernel { return new(Scale) })
	register(func() Kernel { return new(Copy) })
	register(func() Kernel { return new(Fill) })
}

// Conv2d is a two-dimensional convolution with zero padding (Kernel-1)/2:
// Y[n,o,i,j] = Bias[o] + sum over c, u, v of Weight[o,c,u,v] X[n, group*c, i*Stride+u-pad, j*Stride+v-pad].
type Conv2d struct {
	X      Ref `json:"x"`              // (N, Cin, H, W)
	Weight Ref `json:"weight"`         // (Cout, Cin/Groups, Kernel, Kernel)
	Bias   Ref `json:"bias,omitempty"` // (Cout)
	Y      Ref `json:"y"`              // (N, Cout, H/Stride, W/Stride)

	Kernel int `json:"kernel,omitempty"` // odd
	Stride int `json:"stride,omitempty"` // 1 or 2
	Groups int `json:"groups,omitempty"`
}

// Kind implements Kernel.
func (*Conv2d) Kind() string { return "conv2d" }

// Operands implements Kernel.
func (k *Conv2d) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("weight", &k.Weight, Read)
	visit("bias", &k.Bias, Read)
	visit("y", &k.Y, Write)
}

// BatchStatistics takes mean and 1/sqrt(variance+Epsilon) of X per channel over
// batch and map (biased variance) and moves the running statistics: training.
type BatchStatistics struct {
	X           Ref `json:"x"`           // (N, C, H, W)
	Mean        Ref `json:"mean"`        // (C)
	Rstd        Ref `json:"rstd"`        // (C)
	RunningMean Ref `json:"runningMean"` // (C)
	RunningVar  Ref `json:"runningVar"`  // (C), fed the unbiased variance
	Batches     Ref `json:"batches"`     // counter

	Epsilon    float64 `json:"epsilon,omitempty"`
	Momentum   float64 `json:"momentum,omitempty"`
	Cumulative bool    `json:"cumulative,omitempty"` // average over all batches in place of Momentum
}

// Kind implements Kernel.
func (*BatchStatistics) Kind() string { return "batch_statistics" }

// Operands implements Kernel.
func (k *BatchStatistics) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("mean", &k.Mean, Write)
	visit("rstd", &k.Rstd, Write)
	visit("runningMean", &k.RunningMean, Update)
	visit("runningVar", &k.RunningVar, Update)
	visit("batches", &k.Batches, Update)
}

// RunningStatistics gives the statistics that evaluation normalises with.
type RunningStatistics struct {
	RunningMean Ref `json:"runningMean"` // (C)
	RunningVar  Ref `json:"runningVar"`  // (C)
	Mean        Ref `json:"mean"`        // (C)
	Rstd        Ref `json:"rstd"`        // (C)

	Epsilon float64 `json:"epsilon,omitempty"`
}

// Kind implements Kernel.
func (*RunningStatistics) Kind() string { return "running_statistics" }

// Operands implements Kernel.
func (k *RunningStatistics) Operands(visit func(string, *Ref, Access)) {
	visit("runningMean", &k.RunningMean, Read)
	visit("runningVar", &k.RunningVar, Read)
	visit("mean", &k.Mean, Write)
	visit("rstd", &k.Rstd, Write)
}

// Normalize is Y = act((X - Mean) * Rstd * Scale + Shift) + Residual.
type Normalize struct {
	X        Ref `json:"x"`                  // (N, C, H, W)
	Mean     Ref `json:"mean"`               // (C)
	Rstd     Ref `json:"rstd"`               // (C)
	Scale    Ref `json:"scale"`              // (C)
	Shift    Ref `json:"shift"`              // (C)
	Residual Ref `json:"residual,omitempty"` // as X; added after the activation
	Y        Ref `json:"y"`                  // as X

	Activation Function `json:"activation,omitempty"`
	Slope      float64  `json:"slope,omitempty"` // of LeakyReLU
}

// Kind implements Kernel.
func (*Normalize) Kind() string { return "normalize" }

// Operands implements Kernel.
func (k *Normalize) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("mean", &k.Mean, Read)
	visit("rstd", &k.Rstd, Read)
	visit("scale", &k.Scale, Read)
	visit("shift", &k.Shift, Read)
	visit("residual", &k.Residual, Read)
	visit("y", &k.Y, Write)
}

// Activate is Y = act(X).
type Activate struct {
	X Ref `json:"x"`
	Y Ref `json:"y"`

	Activation Function `json:"activation,omitempty"`
	Slope      float64  `json:"slope,omitempty"` // of LeakyReLU
}

// Kind implements Kernel.
func (*Activate) Kind() string { return "activate" }

// Operands implements Kernel.
func (k *Activate) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("y", &k.Y, Write)
}

// Add is Y = A + B.
type Add struct {
	A Ref `json:"a"`
	B Ref `json:"b"` // as A
	Y Ref `json:"y"` // as A
}

// Kind implements Kernel.
func (*Add) Kind() string { return "add" }

// Operands implements Kernel.
func (k *Add) Operands(visit func(string, *Ref, Access)) {
	visit("a", &k.A, Read)
	visit("b", &k.B, Read)
	visit("y", &k.Y, Write)
}

// Multiply is Y = A * B, element by element.
type Multiply struct {
	A Ref `json:"a"`
	B Ref `json:"b"` // as A
	Y Ref `json:"y"` // as A

	Accumulate bool `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*Multiply) Kind() string { return "multiply" }

// Operands implements Kernel.
func (k *Multiply) Operands(visit func(string, *Ref, Access)) {
	visit("a", &k.A, Read)
	visit("b", &k.B, Read)
	visit("y", &k.Y, writing(k.Accumulate))
}

// Scale is Y = Factor * X.
type Scale struct {
	X Ref `json:"x"`
	Y Ref `json:"y"` // as X

	Factor     float64 `json:"factor,omitempty"`
	Accumulate bool    `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*Scale) Kind() string { return "scale" }

// Operands implements Kernel.
func (k *Scale) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("y", &k.Y, writing(k.Accumulate))
}

// Copy moves X to Y, which has the same shape in another layout.
type Copy struct {
	X Ref `json:"x"`
	Y Ref `json:"y"` // as X

	Accumulate bool `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*Copy) Kind() string { return "copy" }

// Operands implements Kernel.
func (k *Copy) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("y", &k.Y, writing(k.Accumulate))
}

// Fill sets every element of Y to Value.
type Fill struct {
	Y Ref `json:"y"`

	Value float64 `json:"value,omitempty"`
}

// Kind implements Kernel.
func (*Fill) Kind() string { return "fill" }

// Operands implements Kernel.
func (k *Fill) Operands(visit func(string, *Ref, Access)) {
	visit("y", &k.Y, Write)
}

// Function is an activation function.
type Function string

// The activation functions.
const (
	Identity  Function = ""
	SiLU      Function = "silu"
	ReLU      Function = "relu"
	LeakyReLU Function = "leaky_relu"
	Sigmoid   Function = "sigmoid"
	Tanh      Function = "tanh"
)

func writing(accumulate bool) Access {
	if accumulate {
		return Update
	}
	return Write
}
