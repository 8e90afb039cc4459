// Package golden compares a network and its training with reference values.
//
// A reference file holds samples of results only. All inputs, weights, images,
// cotangents and targets, follow from a seed by one integer rule, so they are
// equal on every machine and in every language.
package golden

import (
	"hash/fnv"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Rule makes the inputs of one seed.
type Rule struct{ seed uint64 }

// NewRule returns the rule of a seed.
func NewRule(seed uint64) Rule { return Rule{seed} }

// fractionBits is the length of the integers k.
const fractionBits = 24

// Stream is the sequence of one tensor name.
type Stream struct{ base uint64 }

// Stream returns the sequence of a tensor name.
func (r Rule) Stream(name string) Stream {
	h := fnv.New64a()
	// The hash never returns a write error.
	_, _ = h.Write([]byte(name))
	return Stream{splitMix64(h.Sum64() ^ r.seed)}
}

// K is the integer of element i, 24 bits.
func (s Stream) K(i int) uint64 { return splitMix64(s.base+uint64(i)) >> (64 - fractionBits) }

// U is the number of element i, in [-1, 1). It is exact in float32.
func (s Stream) U(i int) float64 { return float64(s.K(i))/(1<<fractionBits)*2 - 1 }

// Draw is the integer floor(K(i) * n / 2^24) in [0, n), for n below 2^40.
func (s Stream) Draw(i, n int) int { return int(s.K(i) * uint64(n) >> fractionBits) }

// splitMix64 is the finaliser of the SplitMix64 generator (Steele, Lea and
// Flood, "Fast splittable pseudorandom number generators", 2014).
func splitMix64(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// FillImage sets the elements of the image tensor of a name to (u+1)/2. The
// image of a case is named "image", that of step S of a trajectory "image.S".
func FillImage[T device.Float](r Rule, name string, image []T) {
	s := r.Stream(name)
	for i := range image {
		image[i] = T((s.U(i) + 1) / 2)
	}
}

// FillCotangent sets the cotangent of an output of a case to u divided by its
// number of elements.
func FillCotangent[T device.Float](r Rule, output string, cotangent []T) {
	s := r.Stream("cotangent." + output)
	for i := range cotangent {
		cotangent[i] = T(s.U(i) / float64(len(cotangent)))
	}
}
