package host

import (
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
)

// dropout prepares Mask and Y = X * Mask, with the generator that the package
// comment describes. The state is read and advanced on the device, so every
// replay draws new numbers (field cases SE-04 and SE-05).
func (b *binder[T]) dropout(k *ir.Dropout) launch {
	y := b.tensor("y", k.Y)
	x, mask := b.like(y, "x", k.X), b.like(y, "mask", k.Mask)
	state := b.counter("state", k.State, 2)
	if !b.check(k.Probability >= 0 && k.Probability < 1, "probability %v is not in [0, 1)", k.Probability) {
		return nil
	}
	walk := walkLogical(y.shape, x.strides, mask.strides, y.strides)
	threshold := uint64(math.Ceil(k.Probability * (1 << 53)))
	kept := T(1 / (1 - k.Probability))
	draw := phase{tasks: walk.tasks(), run: func(task, _ int) {
		seed, drawn := uint64(state[0]), uint64(state[1])
		for c := walk.start(task); c.next(); {
			for i := range c.n {
				factor := kept
				if splitMix(seed, drawn+uint64(c.position+i))>>11 < threshold {
					factor = 0
				}
				mask.data[c.offset[1]+i*walk.steps[1]] = factor
				y.data[c.offset[2]+i*walk.steps[2]] = factor * x.data[c.offset[0]+i*walk.steps[0]]
			}
		}
	}}
	count := int64(y.elements())
	return launch{draw, {tasks: 1, run: func(int, int) { state[1] += count }}}
}

// splitMix is draw number i of the generator with a seed.
func splitMix(seed, i uint64) uint64 {
	z := seed + (i+1)*0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
