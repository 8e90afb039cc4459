package rounding

import (
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// terms gives, for results that are sums over a map, the size of what was rounded on
// the way. The host adds them in float64, a device in FP32. A mean is counted from
// one of the values, so it is rounded like numbers of the size of their deviation,
// however near to zero it is itself; a sum is rounded like its partial sums, which
// are of the size of the root of the sum of squares where signs are mixed. The same
// is done for attention, whose terms are rounded (see attention.go).
func terms(op *ir.Op, tensor func(ir.Ref) device.Tensor) (map[ir.Ref][]float64, error) {
	switch k := op.Do.(type) {
	case *ir.BatchStatistics:
		rstd, err := read(tensor(k.Rstd))
		deviation, moved := make([]float64, len(rstd)), make([]float64, len(rstd))
		weight := k.Momentum
		if k.Cumulative {
			weight = 1 // at most
		}
		for c, r := range rstd {
			deviation[c], moved[c] = 1/r, weight/r
		}
		return map[ir.Ref][]float64{k.Mean: deviation, k.RunningMean: moved}, err
	case *ir.ChannelSum:
		size, err := rootOfSquares(tensor(k.DY))
		return map[ir.Ref][]float64{k.DBias: size}, err
	case *ir.NormalizeReduce:
		size, err := rootOfSquares(tensor(k.DY))
		return map[ir.Ref][]float64{k.DShift: size, k.DScale: size}, err
	case *ir.Attention:
		return attentionTerms(k, tensor)
	case *ir.AttentionGradient:
		return attentionGradientTerms(k, tensor)
	}
	return nil, nil
}

// rootOfSquares gives the L2 norm of every channel: dimension 1 of maps (N, C, H, W),
// the last of everything else.
func rootOfSquares(t device.Tensor) ([]float64, error) {
	shape, inner := t.Shape(), 1
	channels := shape[len(shape)-1]
	if len(shape) == 4 {
		channels, inner = shape[1], shape[2]*shape[3]
	}
	values, err := read(t)
	size := make([]float64, channels)
	for i, v := range values {
		size[i/inner%channels] += v * v
	}
	for c, v := range size {
		size[c] = math.Sqrt(v)
	}
	return size, err
}

func read(t device.Tensor) ([]float64, error) {
	values := make([]float64, device.Elements(t.Shape()))
	return values, t.ReadFloat64(values)
}
