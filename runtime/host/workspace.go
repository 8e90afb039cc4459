package host

import "github.com/reprise-ml/reprise/runtime/device"

// workspace is the scratch of one binding. Launches run one after another, so
// all share it: each takes what it needs from the start. Its size is settled
// when the binding is made; later launches allocate nothing.
type workspace[T device.Float] struct {
	workers int
	floats  bump[T]
	sums    bump[float64]
}

// bump hands out pieces of one slice.
type bump[E element] struct {
	data       []E
	used, need int
}

func (b *bump[E]) take(n int) []E {
	start := b.used
	b.used += n
	b.need = max(b.need, b.used)
	if b.used > len(b.data) {
		// Pieces taken before stay valid: they keep the slice they came from.
		b.data = make([]E, b.used)
	}
	return b.data[start:b.used:b.used]
}

// begin starts a launch: all scratch is free again.
func (w *workspace[T]) begin() { w.floats.used, w.sums.used = 0, 0 }

// settle allocates exactly what the largest launch so far has taken.
func (w *workspace[T]) settle() (bytes int64) {
	w.floats.data = newSlice[T](&bytes, w.floats.need)
	w.sums.data = newSlice[float64](&bytes, w.sums.need)
	poison(w.floats.data)
	poison(w.sums.data)
	return bytes
}
