package pass

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// reverse appends the gradient of one forward operation, if any gradient has
// arrived at its result.
func (b *backward) reverse(op *ir.Op) error {
	y, differentiable := result(op.Do)
	if !differentiable {
		return nil
	}
	dy, ok, err := b.incoming(op, y)
	if !ok || err != nil {
		return err
	}
	switch k := op.Do.(type) {
	case *ir.Conv2d:
		return b.conv(op, k, dy)
	case *ir.Normalize:
		return b.normalize(op, k, dy)
	case *ir.MatMul:
		return b.matmul(op, k, dy)
	case *ir.Attention:
		return b.attention(op, k, dy)
	case *ir.Activate:
		return b.emit(op, "gradient", k.X, func(dx ir.Ref, acc bool) ir.Kernel {
			return &ir.ActivateGradient{DY: dy, X: k.X, DX: dx, Activation: k.Activation, Slope: k.Slope, Accumulate: acc}
		})
	case *ir.Add:
		return b.both(op, k.A, k.B, func(_, dx ir.Ref, acc bool) ir.Kernel { return &ir.Copy{X: dy, Y: dx, Accumulate: acc} })
	case *ir.Multiply:
		return b.both(op, k.A, k.B, func(other, dx ir.Ref, acc bool) ir.Kernel {
			return &ir.Multiply{A: dy, B: other, Y: dx, Accumulate: acc}
		})
	case *ir.LinearCombination:
		return b.combination(op, k, dy)
	}
	return b.simple(op, dy)
}

// result is the differentiable result of an operation.
func result(kernel ir.Kernel) (ir.Ref, bool) {
	var y ir.Ref
	switch kernel.(type) {
	case *ir.BatchStatistics, *ir.RunningStatistics, *ir.Fill:
		return 0, false
	}
	kernel.Operands(func(role string, ref *ir.Ref, _ ir.Access) {
		if role == "y" {
			y = *ref
		}
	})
	return y, y != 0
}

// both appends the gradients of the operands of a sum or product.
func (b *backward) both(op *ir.Op, a, c ir.Ref, kernel func(other, dx ir.Ref, acc bool) ir.Kernel) error {
	err := b.emit(op, "gradient", a, func(dx ir.Ref, acc bool) ir.Kernel { return kernel(c, dx, acc) })
	if err != nil {
		return err
	}
	return b.emit(op, "gradient", c, func(dx ir.Ref, acc bool) ir.Kernel { return kernel(a, dx, acc) })
}

// combination appends the gradient of each term, which has the term's own
// coefficient and factor.
func (b *backward) combination(op *ir.Op, k *ir.LinearCombination, dy ir.Ref) error {
	for _, f := range k.Factors {
		if b.wanted(f) {
			return fmt.Errorf("the factor %s would need a gradient, which linear_combination does not have; multiply tensors in its place", b.stage.Tensor(f).Name)
		}
	}
	for i, x := range k.Xs {
		err := b.emit(op, "gradient", x, func(dx ir.Ref, acc bool) ir.Kernel {
			return &ir.LinearCombination{
				Xs: []ir.Ref{dy}, Factors: []ir.Ref{k.Factors[i]}, Coefficients: []float64{k.Coefficients[i]}, Y: dx, Accumulate: acc,
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// simple appends the gradient of an operation with one differentiable input.
func (b *backward) simple(op *ir.Op, dy ir.Ref) error {
	var x ir.Ref
	var kernel func(dx ir.Ref, acc bool) ir.Kernel
	switch k := op.Do.(type) {
	case *ir.Scale:
		x, kernel = k.X, func(dx ir.Ref, acc bool) ir.Kernel {
			return &ir.Scale{X: dy, Y: dx, Factor: k.Factor, Accumulate: acc}
		}
	case *ir.Copy:
		x, kernel = k.X, func(dx ir.Ref, acc bool) ir.Kernel { return &ir.Copy{X: dy, Y: dx, Accumulate: acc} }
	case *ir.MaxPool:
		x, kernel = k.X, func(dx ir.Ref, acc bool) ir.Kernel {
			return &ir.MaxPoolGradient{DY: dy, Index: k.Index, DX: dx, Kernel: k.Kernel, Stride: k.Stride, Padding: k.Padding, Accumulate: acc}
		}
	case *ir.AveragePool:
		x, kernel = k.X, func(dx ir.Ref, acc bool) ir.Kernel {
			return &ir.AveragePoolGradient{DY: dy, DX: dx, Accumulate: acc}
		}
	case *ir.Upsample:
		x, kernel = k.X, func(dx ir.Ref, acc bool) ir.Kernel { return &ir.UpsampleGradient{DY: dy, DX: dx, Accumulate: acc} }
	case *ir.Softmax:
		x, kernel = k.X, func(dx ir.Ref, acc bool) ir.Kernel {
			return &ir.SoftmaxGradient{DY: dy, Y: k.Y, DX: dx, Accumulate: acc}
		}
	case *ir.Dropout:
		x, kernel = k.X, func(dx ir.Ref, acc bool) ir.Kernel {
			return &ir.Multiply{A: dy, B: k.Mask, Y: dx, Accumulate: acc}
		}
	default:
		return fmt.Errorf("the operation %s has no gradient", op.Do.Kind())
	}
	return b.emit(op, "gradient", x, kernel)
}

// conv appends the input gradient first: the chain of input gradients is what
// the rest of the backward pass waits for.
func (b *backward) conv(op *ir.Op, k *ir.Conv2d, dy ir.Ref) error {
	err := b.emit(op, "input_gradient", k.X, func(dx ir.Ref, acc bool) ir.Kernel {
		return &ir.Conv2dInputGradient{DY: dy, Weight: k.Weight, DX: dx, Kernel: k.Kernel, Stride: k.Stride, Groups: k.Groups, Accumulate: acc}
	})
	if err != nil {
		return err
	}
	err = b.emit(op, "weight_gradient", k.Weight, func(dw ir.Ref, acc bool) ir.Kernel {
		return &ir.Conv2dWeightGradient{X: k.X, DY: dy, DWeight: dw, Kernel: k.Kernel, Stride: k.Stride, Groups: k.Groups, Accumulate: acc}
	})
	if err != nil {
		return err
	}
	return b.bias(op, k.Bias, dy)
}

func (b *backward) bias(op *ir.Op, bias, dy ir.Ref) error {
	return b.emit(op, "bias_gradient", bias, func(db ir.Ref, acc bool) ir.Kernel {
		return &ir.ChannelSum{DY: dy, DBias: db, Accumulate: acc}
	})
}

// normalize appends the gradient of the residual, then the two sums, which
// are the gradients of scale and shift, and from them the input's gradient.
func (b *backward) normalize(op *ir.Op, k *ir.Normalize, dy ir.Ref) error {
	err := b.emit(op, "residual_gradient", k.Residual, func(dx ir.Ref, acc bool) ir.Kernel {
		return &ir.Copy{X: dy, Y: dx, Accumulate: acc}
	})
	if err != nil {
		return err
	}
	dScale, dShift := b.gradient(k.Scale), b.gradient(k.Shift)
	for _, d := range []ir.Ref{dScale, dShift} {
		region, err := b.regions.of(d)
		if err != nil {
			return err
		}
		b.fill(d, region)
	}
	b.append(op, "sums", &ir.NormalizeReduce{
		DY: dy, X: k.X, Mean: k.Mean, Rstd: k.Rstd, Scale: k.Scale, Shift: k.Shift,
		DScale: dScale, DShift: dShift, Activation: k.Activation, Slope: k.Slope,
	})
	return b.emit(op, "gradient", k.X, func(dx ir.Ref, acc bool) ir.Kernel {
		return &ir.NormalizeGradient{
			DY: dy, X: k.X, Mean: k.Mean, Rstd: k.Rstd, Scale: k.Scale, Shift: k.Shift,
			DScale: dScale, DShift: dShift, DX: dx, Activation: k.Activation, Slope: k.Slope, Accumulate: acc,
		}
	})
}

// matmul appends the gradients of Y = Alpha A' B' + Bias, where a prime is a
// transposition if the kernel says so: dA' = Alpha dY B'^T, dB' = Alpha A'^T dY.
func (b *backward) matmul(op *ir.Op, k *ir.MatMul, dy ir.Ref) error {
	err := b.emit(op, "gradient_a", k.A, func(dx ir.Ref, acc bool) ir.Kernel {
		if k.TransposeA {
			return &ir.MatMul{A: k.B, B: dy, Y: dx, TransposeA: k.TransposeB, TransposeB: true, Alpha: k.Alpha, Accumulate: acc}
		}
		return &ir.MatMul{A: dy, B: k.B, Y: dx, TransposeB: !k.TransposeB, Alpha: k.Alpha, Accumulate: acc}
	})
	if err != nil {
		return err
	}
	err = b.emit(op, "gradient_b", k.B, func(dx ir.Ref, acc bool) ir.Kernel {
		if k.TransposeB {
			return &ir.MatMul{A: dy, B: k.A, Y: dx, TransposeA: true, TransposeB: k.TransposeA, Alpha: k.Alpha, Accumulate: acc}
		}
		return &ir.MatMul{A: k.A, B: dy, Y: dx, TransposeA: !k.TransposeA, Alpha: k.Alpha, Accumulate: acc}
	})
	if err != nil {
		return err
	}
	return b.bias(op, k.Bias, dy)
}

// attention appends the gradients of queries, keys and values: all in one launch,
// but each in one of its own if they meet, as where keys are the queries.
func (b *backward) attention(op *ir.Op, k *ir.Attention, dy ir.Ref) error {
	empty := func() *ir.AttentionGradient {
		return &ir.AttentionGradient{
			Q: k.Q, K: k.K, V: k.V, Y: k.Y, LogSum: k.LogSum, DY: dy, Alpha: k.Alpha,
			TransposeQ: k.TransposeQ, TransposeK: k.TransposeK, TransposeV: k.TransposeV, TransposeY: k.TransposeY,
		}
	}
	kernel, written := empty(), []ir.Ref(nil)
	for i, x := range []ir.Ref{k.Q, k.K, k.V} {
		if !b.wanted(x) {
			continue
		}
		meets, err := b.meet(b.gradient(x), written)
		if err != nil {
			return err
		}
		if meets {
			b.append(op, "gradient", kernel)
			kernel, written = empty(), nil
		}
		dx, accumulate, err := b.arrive(op, x)
		if err != nil {
			return err
		}
		written = append(written, dx)
		switch i {
		case 0:
			kernel.DQ, kernel.AccumulateQ = dx, accumulate
		case 1:
			kernel.DK, kernel.AccumulateK = dx, accumulate
		case 2:
			kernel.DV, kernel.AccumulateV = dx, accumulate
		}
	}
	if written != nil {
		b.append(op, "gradient", kernel)
	}
	return nil
}
