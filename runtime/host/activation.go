package host

import (
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// function gives the activation act and its derivative act' as functions on
// rows of equal length; both may work in place.
func (b *binder[T]) function(f ir.Function, slope float64) (value, derivative func(dst, src []T)) {
	switch f {
	case ir.Identity:
		return nil, nil
	case ir.SiLU:
		return silu[T], siluDerivative[T]
	case ir.Sigmoid:
		return sigmoid[T], sigmoidDerivative[T]
	case ir.Tanh:
		return tanh[T], tanhDerivative[T]
	case ir.ReLU:
		return relu[T], leakyDerivative(T(0))
	case ir.LeakyReLU:
		return leaky(T(slope)), leakyDerivative(T(slope))
	}
	b.fail("unknown activation %q", f)
	return nil, nil
}

// silu is x * sigmoid(x).
func silu[T device.Float](dst, src []T) {
	switch d := any(dst).(type) {
	case []float32:
		for i, x := range any(src).([]float32)[:len(d)] {
			d[i] = x * sigmoid32(x)
		}
	case []float64:
		for i, x := range any(src).([]float64)[:len(d)] {
			d[i] = x * sigmoid64(x)
		}
	}
}

// siluDerivative is s * (1 + x*(1-s)) with s = sigmoid(x).
func siluDerivative[T device.Float](dst, src []T) {
	switch d := any(dst).(type) {
	case []float32:
		for i, x := range any(src).([]float32)[:len(d)] {
			s := sigmoid32(x)
			d[i] = s * (1 + x*(1-s))
		}
	case []float64:
		for i, x := range any(src).([]float64)[:len(d)] {
			s := sigmoid64(x)
			d[i] = s * (1 + x*(1-s))
		}
	}
}

func sigmoid[T device.Float](dst, src []T) {
	switch d := any(dst).(type) {
	case []float32:
		for i, x := range any(src).([]float32)[:len(d)] {
			d[i] = sigmoid32(x)
		}
	case []float64:
		for i, x := range any(src).([]float64)[:len(d)] {
			d[i] = sigmoid64(x)
		}
	}
}

func sigmoidDerivative[T device.Float](dst, src []T) {
	sigmoid(dst, src)
	for i, s := range dst {
		dst[i] = s * (1 - s)
	}
}

func tanh[T device.Float](dst, src []T) {
	for i, x := range src[:len(dst)] {
		dst[i] = T(math.Tanh(float64(x)))
	}
}

func tanhDerivative[T device.Float](dst, src []T) {
	for i, x := range src[:len(dst)] {
		t := math.Tanh(float64(x))
		dst[i] = T(1 - t*t)
	}
}

func relu[T device.Float](dst, src []T) {
	for i, x := range src[:len(dst)] {
		if x <= 0 {
			x = 0
		}
		dst[i] = x
	}
}

func leaky[T device.Float](slope T) func(dst, src []T) {
	return func(dst, src []T) {
		for i, x := range src[:len(dst)] {
			if x <= 0 {
				x *= slope
			}
			dst[i] = x
		}
	}
}

// leakyDerivative takes the slope at 0, as PyTorch does.
func leakyDerivative[T device.Float](slope T) func(dst, src []T) {
	return func(dst, src []T) {
		for i, x := range src[:len(dst)] {
			if x > 0 {
				dst[i] = 1
			} else {
				dst[i] = slope
			}
		}
	}
}

// activate prepares Y = act(X).
func (b *binder[T]) activate(k *ir.Activate) launch {
	y := b.tensor("y", k.Y)
	act, _ := b.function(k.Activation, k.Slope)
	return b.rowwise(false, func(r [][]T, _ []T) {
		if act == nil {
			copy(r[1], r[0])
			return
		}
		act(r[1], r[0])
	}, b.like(y, "x", k.X), y)
}

// activateGradient prepares DX (+)= DY * act'(X).
func (b *binder[T]) activateGradient(k *ir.ActivateGradient) launch {
	dX := b.tensor("dX", k.DX)
	_, derivative := b.function(k.Activation, k.Slope)
	return b.rowwise(k.Accumulate, func(r [][]T, factor []T) {
		out := r[2]
		dY := r[0][:len(out)]
		if derivative == nil {
			copy(out, dY)
			return
		}
		derivative(factor, r[1])
		factor = factor[:len(out)]
		for i := range out {
			out[i] = dY[i] * factor[i]
		}
	}, b.like(dX, "dY", k.DY), b.like(dX, "x", k.X), dX)
}
