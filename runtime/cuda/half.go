//go:build cuda

package cuda

import (
	"math"
	"sync"
)

// floatFromBFloat16 widens a bfloat16, which is the upper half of a float32.
func floatFromBFloat16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// bfloat16FromFloat rounds to nearest, ties to even. NaN stays NaN.
func bfloat16FromFloat(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// halfTable holds the value of every float16.
var halfTable = sync.OnceValue(func() *[1 << 16]float32 {
	table := new([1 << 16]float32)
	for b := range table {
		sign, exponent, mantissa := 1.0, b>>10&31, float64(b&1023)
		if b>>15 == 1 {
			sign = -1
		}
		switch {
		case exponent == 0:
			table[b] = float32(sign * mantissa * 0x1p-24)
		case exponent < 31:
			table[b] = float32(sign * math.Ldexp(1024+mantissa, exponent-25))
		case mantissa == 0:
			table[b] = float32(math.Inf(int(sign)))
		default:
			table[b] = float32(math.NaN())
		}
	}
	return table
})

// halfFromFloat rounds to nearest, ties to even: subnormals are kept, what is
// too large becomes infinite, NaN stays NaN.
func halfFromFloat(f float32) uint16 {
	b := math.Float32bits(f)
	sign, magnitude := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case magnitude > 0x7f800000:
		return sign | 0x7e00
	case magnitude >= 0x477ff000: // rounds to 2^16 and more
		return sign | 0x7c00
	case magnitude < 0x38800000: // below the smallest normal number, 2^-14
		// Adding 2^-1 leaves the float16's own unit as the last bit, rounded.
		rounded := math.Float32frombits(magnitude) + 0.5
		return sign | uint16(math.Float32bits(rounded)-0x3f000000)
	}
	return sign | uint16((magnitude+0xfff+magnitude>>13&1-0x38000000)>>13)
}
