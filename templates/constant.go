package templates

import (
	"fmt"
	"math"
	"strconv"
)

// Bits prints a number as the bit pattern of its FP32 value, the form in which
// constants reach device code as template arguments. Every value has one,
// infinities, NaN and the negative zero too.
func Bits(v float64) string {
	return fmt.Sprintf("0x%08xu", math.Float32bits(float32(v)))
}

// Literal prints the FP32 value of a number as C text that reads back to the
// same bits: a hexadecimal literal, or the bit pattern where C has no literal
// (infinities and NaN). There is never a decimal or a double in it.
func Literal(v float64) string {
	f := float32(v)
	if math.IsInf(float64(f), 0) || math.IsNaN(float64(f)) {
		return "reprise::float_from_bits(" + Bits(v) + ")"
	}
	return strconv.FormatFloat(float64(f), 'x', -1, 32) + "f"
}
