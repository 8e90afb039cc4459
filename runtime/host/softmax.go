package host

import (
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// softmax prepares the softmax over the last dimension.
func (b *binder[T]) softmax(k *ir.Softmax) launch {
	x := b.tensor("x", k.X)
	y := b.like(x, "y", k.Y)
	return b.lastDimension(false, func(r [][]T) { softmaxRow(r[1], r[0]) }, x, y)
}

// softmaxRow subtracts the largest element first, so that no exponential
// overflows, and sums in float64. It returns the logarithm of the sum of the
// exponentials.
func softmaxRow[E device.Float](dst, src []E) (logSum float64) {
	largest := src[0]
	for _, v := range src {
		largest = max(largest, v)
	}
	exponentials(dst, src, largest)
	sum := 0.0
	for _, v := range dst {
		sum += float64(v)
	}
	share := E(1 / sum)
	for i := range dst {
		dst[i] *= share
	}
	return float64(largest) + math.Log(sum)
}

// exponentials sets dst to e^(src - from).
func exponentials[E device.Float](dst, src []E, from E) {
	switch d := any(dst).(type) {
	case []float32:
		for i, v := range any(src).([]float32) {
			d[i] = exp32(v - float32(from))
		}
	case []float64:
		for i, v := range any(src).([]float64) {
			d[i] = math.Exp(v - float64(from))
		}
	}
}

// softmaxGradient prepares DX (+)= Y * (DY - sum of DY*Y over the last dimension).
func (b *binder[T]) softmaxGradient(k *ir.SoftmaxGradient) launch {
	dX := b.tensor("dX", k.DX)
	return b.lastDimension(k.Accumulate, func(r [][]T) {
		dY, y, out := r[0], r[1][:len(r[0])], r[2][:len(r[0])]
		sum := 0.0
		for i, v := range dY {
			sum += float64(v) * float64(y[i])
		}
		for i, v := range dY {
			out[i] = y[i] * (v - T(sum))
		}
	}, b.like(dX, "dY", k.DY), b.like(dX, "y", k.Y), dX)
}

// lastDimension prepares a kernel that works on whole rows of the last
// dimension; the last view is the result. It is rowwise for bodies that need
// all of a row at once.
func (b *binder[T]) lastDimension(accumulate bool, body func(rows [][]T), views ...view[T]) launch {
	last := len(views) - 1
	rank := len(views[last].shape)
	if !b.check(rank > 0 && rank <= maxRank, "the result has no dimension") {
		return nil
	}
	shape := views[last].shape[:rank-1]
	length := views[last].shape[rank-1]
	strides := make([][]int, len(views))
	for i, v := range views {
		strides[i] = v.strides[:rank-1]
	}
	walk := walkLogical(shape, strides...)
	walk.perTask = max(1, taskLength/(length*min(walk.inner, pieceLength)))
	scratch := b.work.floats.take(b.work.workers * len(views) * length)
	rows := make([][]T, b.work.workers*len(views))
	return launch{{tasks: walk.tasks(), run: func(task, worker int) {
		mine := rows[worker*len(views):][:len(views)]
		spare := scratch[worker*len(views)*length:]
		for c := walk.start(task); c.next(); {
			for p := range c.n {
				for i, v := range views {
					mine[i] = gather(v.data, c.offset[i]+p*walk.steps[i], v.strides[rank-1], spare[i*length:][:length], i == last && accumulate)
				}
				body(mine)
				scatter(views[last].data, c.offset[last]+p*walk.steps[last], views[last].strides[rank-1], mine[last], accumulate)
			}
		}
	}}}
}
