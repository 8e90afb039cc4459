package optim

import (
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
)

// clipEpsilon keeps the clipping factor finite for a zero norm.
const clipEpsilon = 1e-6

// GlobalNorm is the L2 norm over all present gradients together, summed in
// double precision in the order of the list.
func GlobalNorm[T device.Float](parameters []Parameter[T]) float64 {
	var sum float64
	for i := range parameters {
		for _, g := range parameters[i].Gradient {
			sum += float64(g) * float64(g)
		}
	}
	return math.Sqrt(sum)
}

// ClipGlobalNorm multiplies every present gradient by min(1, limit/(norm+1e-6))
// and returns the norm before clipping (YOLO26 specification, training section
// 6). limit must be positive; a fit without clipping does not call it. With a
// non-finite norm the gradients become non-finite too: detecting that is the
// task of the loss scaler or of the caller, who sees the norm.
func ClipGlobalNorm[T device.Float](parameters []Parameter[T], limit float64) float64 {
	norm := GlobalNorm(parameters)
	factor := T(min(1, limit/(norm+clipEpsilon)))
	for i := range parameters {
		gradient := parameters[i].Gradient
		for k := range gradient {
			gradient[k] *= factor
		}
	}
	return norm
}
