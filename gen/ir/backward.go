package ir

// This file holds the kernels that only backward passes use. Dx is always the
// gradient of x, DY the gradient of y.

func init() {
	register(func() Kernel { return new(Conv2dInputGradient) })
	register(func() Kernel { return new(Conv2dWeightGradient) })
	register(func() Kernel { return new(ChannelSum) })
	register(func() Kernel { return new(NormalizeReduce) })
	register(func() Kernel { return new(NormalizeGradient) })
	register(func() Kernel { return new(ActivateGradient) })
	register(func() Kernel { return new(MaxPoolGradient) })
	register(func() Kernel { return new(AveragePoolGradient) })
	register(func() Kernel { return new(UpsampleGradient) })
	register(func() Kernel { return new(SoftmaxGradient) })
}

// Conv2dInputGradient is the gradient of Conv2d for its input.
type Conv2dInputGradient struct {
	DY     Ref `json:"dY"`
	Weight Ref `json:"weight"`
	DX     Ref `json:"dX"`

	Kernel     int  `json:"kernel,omitempty"`
	Stride     int  `json:"stride,omitempty"`
	Groups     int  `json:"groups,omitempty"`
	Accumulate bool `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*Conv2dInputGradient) Kind() string { return "conv2d_input_gradient" }

// Operands implements Kernel.
func (k *Conv2dInputGradient) Operands(visit func(string, *Ref, Access)) {
	visit("dY", &k.DY, Read)
	visit("weight", &k.Weight, Read)
	visit("dX", &k.DX, writing(k.Accumulate))
}

// Conv2dWeightGradient is the gradient of Conv2d for its weight.
type Conv2dWeightGradient struct {
	X       Ref `json:"x"`
	DY      Ref `json:"dY"`
	DWeight Ref `json:"dWeight"`

	Kernel     int  `json:"kernel,omitempty"`
	Stride     int  `json:"stride,omitempty"`
	Groups     int  `json:"groups,omitempty"`
	Accumulate bool `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*Conv2dWeightGradient) Kind() string { return "conv2d_weight_gradient" }

// Operands implements Kernel.
func (k *Conv2dWeightGradient) Operands(visit func(string, *Ref, Access)) {
	visit("x", &k.X, Read)
	visit("dY", &k.DY, Read)
	visit("dWeight", &k.DWeight, writing(k.Accumulate))
}

// ChannelSum sums DY over all dimensions but the channels: the gradient of a bias.
type ChannelSum struct {
	DY    Ref `json:"dY"`    // (N, C, ...) or (..., C) for rows and vectors
	DBias Ref `json:"dBias"` // (C)

	Accumulate bool `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*ChannelSum) Kind() string { return "channel_sum" }

// Operands implements Kernel.
func (k *ChannelSum) Operands(visit func(string, *Ref, Access)) {
	visit("dY", &k.DY, Read)
	visit("dBias", &k.DBias, writing(k.Accumulate))
}

// NormalizeReduce takes the two sums of Normalize's gradient: with g the gradient
// before the activation, DShift = sum g and DScale = sum g * (X - Mean) * Rstd.
type NormalizeReduce struct {
	DY     Ref `json:"dY"`
	X      Ref `json:"x"`
	Mean   Ref `json:"mean"`
	Rstd   Ref `json:"rstd"`
	Scale  Ref `json:"scale"`
	Shift  Ref `json:"shift"`
	DScale Ref `json:"dScale"`
	DShift Ref `json:"dShift"`

	Activation Function `json:"activation,omitempty"`
	Slope      float64  `json:"slope,omitempty"`
}

// Kind implements Kernel.
func (*NormalizeReduce) Kind() string { return "normalize_reduce" }

// Operands implements Kernel.
func (k *NormalizeReduce) Operands(visit func(string, *Ref, Access)) {
	visit("dY", &k.DY, Read)
	visit("x", &k.X, Read)
	visit("mean", &k.Mean, Read)
	visit("rstd", &k.Rstd, Read)
	visit("scale", &k.Scale, Read)
	visit("shift", &k.Shift, Read)
	visit("dScale", &k.DScale, Write)
	visit("dShift", &k.DShift, Write)
}

// NormalizeGradient is the gradient of Normalize with batch statistics for X:
// DX = Scale*Rstd * (g - DShift/M - xhat*DScale/M), M the elements of a channel.
type NormalizeGradient struct {
	DY     Ref `json:"dY"`
	X      Ref `json:"x"`
	Mean   Ref `json:"mean"`
	Rstd   Ref `json:"rstd"`
	Scale  Ref `json:"scale"`
	Shift  Ref `json:"shift"`
	DScale Ref `json:"dScale"`
	DShift Ref `json:"dShift"`
	DX     Ref `json:"dX"`

	Activation Function `json:"activation,omitempty"`
	Slope      float64  `json:"slope,omitempty"`
	Accumulate bool     `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*NormalizeGradient) Kind() string { return "normalize_gradient" }

// Operands implements Kernel.
func (k *NormalizeGradient) Operands(visit func(string, *Ref, Access)) {
	visit("dY", &k.DY, Read)
	visit("x", &k.X, Read)
	visit("mean", &k.Mean, Read)
	visit("rstd", &k.Rstd, Read)
	visit("scale", &k.Scale, Read)
	visit("shift", &k.Shift, Read)
	visit("dScale", &k.DScale, Read)
	visit("dShift", &k.DShift, Read)
	visit("dX", &k.DX, writing(k.Accumulate))
}

// Over implements InPlace: the gradient of a map may take the memory of the map.
func (k *NormalizeGradient) Over() (result, operand Ref) {
	if k.Accumulate {
		return 0, 0
	}
	return k.DX, k.X
}

// ActivateGradient is DX = DY * act'(X).
type ActivateGradient struct {
	DY Ref `json:"dY"`
	X  Ref `json:"x"`
	DX Ref `json:"dX"`

	Activation Function `json:"activation,omitempty"`
	Slope      float64  `json:"slope,omitempty"`
	Accumulate bool     `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*ActivateGradient) Kind() string { return "activate_gradient" }

// Operands implements Kernel.
func (k *ActivateGradient) Operands(visit func(string, *Ref, Access)) {
	visit("dY", &k.DY, Read)
	visit("x", &k.X, Read)
	visit("dX", &k.DX, writing(k.Accumulate))
}

// MaxPoolGradient gathers, for each input element, the gradients of the windows
// that chose it, in window order.
type MaxPoolGradient struct {
	DY    Ref `json:"dY"`
	Index Ref `json:"index"`
	DX    Ref `json:"dX"`

	Kernel     int  `json:"kernel,omitempty"`
	Stride     int  `json:"stride,omitempty"`
	Padding    int  `json:"padding,omitempty"`
	Accumulate bool `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*MaxPoolGradient) Kind() string { return "max_pool_gradient" }

// Operands implements Kernel.
func (k *MaxPoolGradient) Operands(visit func(string, *Ref, Access)) {
	visit("dY", &k.DY, Read)
	visit("index", &k.Index, Read)
	visit("dX", &k.DX, writing(k.Accumulate))
}

// AveragePoolGradient spreads DY evenly over each map.
type AveragePoolGradient struct {
	DY Ref `json:"dY"` // (N, C)
	DX Ref `json:"dX"` // (N, C, H, W)

	Accumulate bool `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*AveragePoolGradient) Kind() string { return "average_pool_gradient" }

// Operands implements Kernel.
func (k *AveragePoolGradient) Operands(visit func(string, *Ref, Access)) {
	visit("dY", &k.DY, Read)
	visit("dX", &k.DX, writing(k.Accumulate))
}

// UpsampleGradient sums, for each source element, its copies in row-major order.
type UpsampleGradient struct {
	DY Ref `json:"dY"`
	DX Ref `json:"dX"`

	Accumulate bool `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*UpsampleGradient) Kind() string { return "upsample_gradient" }

// Operands implements Kernel.
func (k *UpsampleGradient) Operands(visit func(string, *Ref, Access)) {
	visit("dY", &k.DY, Read)
	visit("dX", &k.DX, writing(k.Accumulate))
}

// SoftmaxGradient is DX = Y * (DY - sum of DY*Y over the last dimension).
type SoftmaxGradient struct {
	DY Ref `json:"dY"`
	Y  Ref `json:"y"`
	DX Ref `json:"dX"`

	Accumulate bool `json:"accumulate,omitempty"` // add to the result in place of replacing it
}

// Kind implements Kernel.
func (*SoftmaxGradient) Kind() string { return "softmax_gradient" }

// Operands implements Kernel.
func (k *SoftmaxGradient) Operands(visit func(string, *Ref, Access)) {
	visit("dY", &k.DY, Read)
	visit("y", &k.Y, Read)
	visit("dX", &k.DX, writing(k.Accumulate))
}
