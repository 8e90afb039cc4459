//go:build cuda

package cuda

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// nearest gives the 16-bit pattern whose value is nearest to f, ties to the even
// pattern, by comparing exactly with every finite pattern's neighbours.
func nearest(f float32, low, high uint16, value func(uint16) float32) uint16 {
	for high-low > 1 {
		middle := low + (high-low)/2
		if value(middle) <= f {
			low = middle
		} else {
			high = middle
		}
	}
	x := new(big.Float).SetFloat64(float64(f))
	below := new(big.Float).Sub(x, new(big.Float).SetFloat64(float64(value(low))))
	above := new(big.Float).Sub(new(big.Float).SetFloat64(float64(value(high))), x)
	switch c := below.Cmp(above); {
	case c < 0:
		return low
	case c > 0:
		return high
	}
	return low + low&1
}

// Every float16 survives, and numbers between two go to the nearer one.
func TestHalf(t *testing.T) {
	table := halfTable()
	value := func(b uint16) float32 { return table[b] }
	for b := range uint16(0x7c00) {
		require.Equal(t, b, halfFromFloat(value(b)))
		require.Equal(t, b|0x8000, halfFromFloat(-value(b)))
		if b == 0x7bff {
			break // the next one is infinite
		}
		gap := float64(value(b+1)) - float64(value(b))
		for _, part := range []float64{0.25, 0.5, 0.5000001, 0.75} {
			f := float32(float64(value(b)) + part*gap)
			require.Equal(t, nearest(f, b, b+1, value), halfFromFloat(f), "%x", b)
		}
	}
	require.Equal(t, uint16(0x2E66), halfFromFloat(0.1)) // field case CG-15
	require.Equal(t, uint16(0x7bff), halfFromFloat(65519))
	require.Equal(t, uint16(0x7c00), halfFromFloat(65520))
	require.Equal(t, uint16(0xfc00), halfFromFloat(float32(math.Inf(-1))))
	require.True(t, math.IsNaN(float64(value(halfFromFloat(float32(math.NaN()))))))
}

func TestBFloat16(t *testing.T) {
	for b := range uint16(0x7f7f) {
		require.Equal(t, b, bfloat16FromFloat(floatFromBFloat16(b)))
		gap := float64(floatFromBFloat16(b+1)) - float64(floatFromBFloat16(b))
		for _, part := range []float64{0.25, 0.5, 0.75} {
			f := float32(float64(floatFromBFloat16(b)) + part*gap)
			require.Equal(t, nearest(f, b, b+1, floatFromBFloat16), bfloat16FromFloat(f), "%x", b)
		}
	}
	require.Equal(t, uint16(0x3DCD), bfloat16FromFloat(0.1)) // field case CG-15
	require.Equal(t, uint16(0xff80), bfloat16FromFloat(float32(math.Inf(-1))))
	require.True(t, math.IsNaN(float64(floatFromBFloat16(bfloat16FromFloat(float32(math.NaN()))))))
}
