package stage

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Bias says whether a convolution or linear map adds a bias, and how it starts.
type Bias struct {
	present  bool
	constant bool
	value    float64
}

// The usual biases; ConstantBias makes others.
var (
	NoBias      = Bias{}
	UniformBias = Bias{present: true} // uniform in ±1/sqrt(fan in)
)

// ConstantBias is a bias that starts at the same value everywhere.
func ConstantBias(value float64) Bias { return Bias{present: true, constant: true, value: value} }

func (b Bias) init(fanIn int) ir.Initialise {
	if b.constant {
		return ir.Initialise{Value: b.value}
	}
	return uniform(fanIn)
}

// uniform is the start of weights: ±1/sqrt(fan in), which is Kaiming uniform
// with a = sqrt(5) (YOLO26 specification, network section 8).
func uniform(fanIn int) ir.Initialise { return ir.Initialise{Bound: 1 / math.Sqrt(float64(fanIn))} }

// Conv describes a convolution. Its padding is (Kernel-1)/2, so that stride 1
// keeps the size of a map and stride 2 halves it.
type Conv struct {
	Out    int // output channels
	Kernel int // odd; 0 means 1
	Stride int // 1 or 2; 0 means 1
	Groups int // 0 means 1
	Bias   Bias
}

// Conv2d convolves a map: (N, C, H, W) to (N, Out, H/Stride, W/Stride). Its
// state entries are weight, (Out, C/Groups, Kernel, Kernel), and bias, (Out).
func (b *Builder) Conv2d(x Tensor, c Conv) Tensor {
	pos := author()
	c.Kernel, c.Stride, c.Groups = max(c.Kernel, 1), max(c.Stride, 1), max(c.Groups, 1)
	if !b.usable(pos, "conv2d", x) || !b.checkConv(pos, x, c) {
		return b.failed()
	}
	in := x.Channels()
	shape, ok := b.strided(pos, "conv2d", x, c.Out, c.Kernel, c.Stride, (c.Kernel-1)/2)
	if !ok {
		return b.failed()
	}
	fanIn := in / c.Groups * c.Kernel * c.Kernel
	weight, ok := b.parameter(pos, "conv2d", "weight", []int{c.Out, in / c.Groups, c.Kernel, c.Kernel}, uniform(fanIn))
	if !ok {
		return b.failed()
	}
	var bias ir.Ref
	if c.Bias.present {
		if bias, ok = b.parameter(pos, "conv2d", "bias", []int{c.Out}, c.Bias.init(fanIn)); !ok {
			return b.failed()
		}
	}
	return b.unary(pos, "conv2d", x, mapKind, shape, func(x, y ir.Ref) ir.Kernel {
		return &ir.Conv2d{X: x, Weight: weight, Bias: bias, Y: y, Kernel: c.Kernel, Stride: c.Stride, Groups: c.Groups}
	})
}

func (b *Builder) checkConv(pos ir.Pos, x Tensor, c Conv) bool {
	say := func(problem, remedy string) bool {
		b.core.mistake(pos, "conv2d", problem, remedy)
		return false
	}
	in := x.Channels()
	switch {
	case x.kind() != mapKind:
		return say(fmt.Sprintf("the input is %s", x.describe()), "a convolution takes a map (N, C, H, W)")
	case c.Out < 1:
		return say(fmt.Sprintf("Out is %d", c.Out), "give the number of output channels")
	case c.Kernel%2 == 0:
		return say(fmt.Sprintf("Kernel is %d", c.Kernel), "use an odd size")
	case c.Stride > 2:
		return say(fmt.Sprintf("Stride is %d", c.Stride), "use 1 or 2")
	case in%c.Groups != 0 || c.Out%c.Groups != 0:
		return say(fmt.Sprintf("%d groups divide neither or only one of %d input and %d output channels", c.Groups, in, c.Out), "choose groups that divide both")
	}
	return true
}

// strided is the shape of a sliding window's result.
func (b *Builder) strided(pos ir.Pos, op string, x Tensor, channels, kernel, stride, padding int) ([]ir.Dim, bool) {
	s := x.shape()
	out := []ir.Dim{s[0], ir.Const(channels), {}, {}}
	for i := 2; i < 4; i++ {
		if v, fixed := s[i].Constant(); fixed {
			n := (v+2*padding-kernel)/stride + 1
			if v+2*padding < kernel {
				b.core.mistake(pos, op, fmt.Sprintf("a window of %d does not fit into %d", kernel, v), "use a smaller window or more padding")
				return nil, false
			}
			out[i] = ir.Const(n)
			continue
		}
		part, ok := s[i].Divide(stride, b.core.stage.Multiple)
		if !ok {
			b.core.mistake(pos, op, fmt.Sprintf("%s cannot be divided by the stride %d for every allowed size", s[i], stride), fmt.Sprintf("declare Builder.Multiple with a multiple of %d pixels", stride))
			return nil, false
		}
		out[i] = part.Add(ir.Const(floorDivide(2*padding-kernel, stride) + 1))
	}
	return out, true
}

func floorDivide(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Linear maps the features of a vector: (N, C) to (N, out). Its state entries
// are weight, (out, C), and bias, (out).
func (b *Builder) Linear(x Tensor, out int, bias Bias) Tensor {
	pos := author()
	if !b.usable(pos, "linear", x) {
		return b.failed()
	}
	if x.kind() != vectorKind || out < 1 {
		b.core.mistake(pos, "linear", fmt.Sprintf("%s to %d features", x.describe(), out), "use a vector (N, C) and at least one feature")
		return b.failed()
	}
	in := x.Channels()
	weight, ok := b.parameter(pos, "linear", "weight", []int{out, in}, uniform(in))
	if !ok {
		return b.failed()
	}
	var biasRef ir.Ref
	if bias.present {
		if biasRef, ok = b.parameter(pos, "linear", "bias", []int{out}, bias.init(in)); !ok {
			return b.failed()
		}
	}
	shape := []ir.Dim{x.shape()[0], ir.Const(out)}
	return b.unary(pos, "linear", x, vectorKind, shape, func(x, y ir.Ref) ir.Kernel {
		return &ir.MatMul{A: x, B: weight, Bias: biasRef, Y: y, TransposeB: true, Alpha: 1}
	})
}
