package host

import "math"

// exp32 is e^x in single precision with a relative error below 1.2e-7: x is
// split into n*ln 2 + r with |r| <= ln 2 / 2, e^r is its Taylor polynomial of
// degree 7 (summed in pairs, which a processor overlaps), and 2^n is put into
// the exponent. Arguments are clamped to
// [-87.3, 88], where results are normal numbers; NaN stays NaN.
func exp32(x float32) float32 {
	const (
		log2e = 1.44269504088896341
		high  = 0.693359375             // ln 2 in few bits, so that n*high is exact
		low   = -2.12194440054690581e-4 // ln 2 - high
		round = 3 << 22                 // adding it rounds to a whole number
	)
	if x < -87.3 {
		x = -87.3
	} else if x > 88 {
		x = 88
	}
	shifted := x*log2e + round
	n := shifted - round
	r := x - n*high - n*low
	square := r * r
	high4 := 1.0/24 + r*(1.0/120) + square*(1.0/720+r*(1.0/5040))
	p := 1 + r + square*(0.5+r*(1.0/6)+square*high4)
	return p * math.Float32frombits((math.Float32bits(shifted)+127)<<23)
}

// sigmoid32 is 1/(1+e^-x).
func sigmoid32(x float32) float32 { return 1 / (1 + exp32(-x)) }

// sigmoid64 is 1/(1+e^-x).
func sigmoid64(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
