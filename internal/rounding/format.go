package rounding

import (
	"math"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// format is what rounding to a number format may change: half a unit in the last
// place of a significand of p bits, 2^-p of the value, and below the smallest
// normal number half the smallest number that there is.
type format struct{ relative, absolute float64 }

var (
	float32Format  = format{0x1p-24, 0x1p-150}
	float16Format  = format{0x1p-11, 0x1p-25}
	bfloat16Format = format{0x1p-8, 0x1p-134}
)

// formatOf is the format in which a storage of the element kind is kept.
func formatOf(e ir.Element, p device.Precision) format {
	switch {
	case e == ir.Activation && p == device.FP16:
		return float16Format
	case e == ir.Activation && p == device.BF16:
		return bfloat16Format
	}
	return float32Format
}

// blur moves every value by an error that is uniform in what rounding may change.
// Values that came about from larger ones have rounded those too: beside, by
// element, is their size, nil for none.
func (f format) blur(values []float32, beside []float64, random *rand.Rand) {
	for i, v := range values {
		x := float64(v)
		half := f.relative * math.Abs(x)
		if beside != nil {
			half += f.relative * beside[i]
		}
		half = math.Max(half, f.absolute)
		values[i] = float32(x + half*(2*random.Float64()-1))
	}
}
