package rounding

import (
	"maps"
	"math"
	"slices"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Draws is the number of rounded steps that bounds are taken from.
const Draws = 8

// Margin is how many times the root mean square of the draws a bound allows.
// Tensors of few elements spread most: over all tensors of all networks fresh
// draws reach 3.1. A device also adds in another order than the host: a row of n
// additions deviates by about sqrt(n) roundings where the draws have one.
const Margin = 8

// Bounds is how far each tensor of a step may be from its value in float64, in the
// L2 norm, by the names of State.
type Bounds map[string]float64

// Bounds gives Margin times the root mean square deviation of Draws rounded steps
// from exact.
func (s Step) Bounds(exact State, p device.Precision) (Bounds, error) {
	squares := map[string]float64{}
	for seed := range uint64(Draws) {
		rounded, err := s.Rounded(p, seed)
		if err != nil {
			return nil, err
		}
		for name := range exact {
			d := distance(exact[name], rounded[name])
			squares[name] += d * d
		}
	}
	bounds := Bounds{}
	for name, sum := range squares {
		bounds[name] = Margin * math.Sqrt(sum/Draws)
	}
	return bounds, nil
}

// Worst gives the tensor that takes most of its bound, and the share. A tensor that
// rounding does not move has a bound of 0 and must be exact; what is no number
// takes an infinite share.
func (b Bounds) Worst(exact, got State) (name string, share float64) {
	for _, n := range slices.Sorted(maps.Keys(exact)) {
		d := distance(exact[n], got[n])
		s := d / b[n]
		switch {
		case d == 0:
			s = 0
		case math.IsNaN(s):
			s = math.Inf(1)
		}
		if s >= share {
			name, share = n, s
		}
	}
	return name, share
}

// distance is the L2 norm of the difference, infinite where lengths differ.
func distance(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	sum := 0.0
	for i, v := range a {
		sum += (v - b[i]) * (v - b[i])
	}
	return math.Sqrt(sum)
}
