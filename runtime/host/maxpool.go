package host

import (
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// window is a pooling window that slides over a map padded with nothing.
type window struct{ kernel, stride, padding int }

// maxPool prepares the largest element of each window and its position.
func (b *binder[T]) maxPool(k *ir.MaxPool) launch {
	w := window{k.Kernel, k.Stride, k.Padding}
	x := b.float("x", k.X, anySize, anySize, anySize, anySize)
	y := b.float("y", k.Y, results(w, b, x.shape)...)
	var index view[int32]
	if k.Index != 0 {
		index = b.index("index", k.Index, y.shape...)
	}
	if b.err != nil {
		return nil
	}
	best := b.work.floats.take(b.work.workers * x.shape[1])
	where := make([]int32, b.work.workers*x.shape[1])
	rows := y.shape[0] * y.shape[2]
	return launch{{tasks: rows, run: func(task, worker int) {
		n, i := task/y.shape[2], task%y.shape[2]
		best, where := best[worker*x.shape[1]:][:x.shape[1]], where[worker*x.shape[1]:][:x.shape[1]]
		for j := range y.shape[3] {
			largest(w, x, n, i, j, best, where)
			scatterPixel(y, n, i, j, best, false)
			if index.data == nil {
				continue
			}
			for c, v := range where {
				index.data[n*index.strides[0]+c*index.strides[1]+i*index.strides[2]+j*index.strides[3]] = v
			}
		}
	}}}
}

// results gives the shape of the result, after checking the window.
func results[T device.Float](w window, b *binder[T], x []int) []int {
	if !b.check(w.kernel > 0 && w.stride > 0 && w.padding >= 0 && 2*w.padding <= w.kernel, "window %d, stride %d or padding %d is out of range", w.kernel, w.stride, w.padding) {
		return make([]int, 4)
	}
	size := func(n int) int { return (n+2*w.padding-w.kernel)/w.stride + 1 }
	return []int{x[0], x[1], size(x[2]), size(x[3])}
}

// largest finds, for all channels, the largest element of window (i, j) and its
// row-major position in it, the first of equals. NaN wins, as in PyTorch.
func largest[E device.Float](w window, x view[E], n, i, j int, best []E, where []int32) {
	for c := range best {
		best[c], where[c] = E(math.Inf(-1)), -1
	}
	for u := range w.kernel {
		row := i*w.stride + u - w.padding
		if row < 0 || row >= x.shape[2] {
			continue
		}
		for v := range w.kernel {
			column := j*w.stride + v - w.padding
			if column < 0 || column >= x.shape[3] {
				continue
			}
			from := n*x.strides[0] + row*x.strides[2] + column*x.strides[3]
			for c := range best {
				e := x.data[from+c*x.strides[1]]
				if e > best[c] || e != e || where[c] < 0 {
					best[c], where[c] = e, int32(u*w.kernel+v)
				}
			}
		}
	}
}

// maxPoolGradient prepares, for each input element, the sum of the gradients
// of the windows that chose it, in row-major order of the windows.
func (b *binder[T]) maxPoolGradient(k *ir.MaxPoolGradient) launch {
	w := window{k.Kernel, k.Stride, k.Padding}
	dX := b.float("dX", k.DX, anySize, anySize, anySize, anySize)
	dY := b.float("dY", k.DY, results(w, b, dX.shape)...)
	index := b.index("index", k.Index, dY.shape...)
	if b.err != nil {
		return nil
	}
	channels := dX.shape[1]
	sums := b.work.floats.take(b.work.workers * channels)
	return launch{{tasks: dX.shape[0] * dX.shape[2], run: func(task, worker int) {
		n, i := task/dX.shape[2], task%dX.shape[2]
		sum := sums[worker*channels:][:channels]
		for j := range dX.shape[3] {
			chosen(w, dY, index, n, i, j, sum)
			scatterPixel(dX, n, i, j, sum, k.Accumulate)
		}
	}}}
}

// chosen sums for all channels the gradients of the windows that chose pixel
// (i, j).
func chosen[E device.Float](w window, dY view[E], index view[int32], n, i, j int, sum []E) {
	clear(sum)
	firstRow, lastRow := w.covering(i, dY.shape[2])
	firstColumn, lastColumn := w.covering(j, dY.shape[3])
	for a := firstRow; a <= lastRow; a++ {
		for b := firstColumn; b <= lastColumn; b++ {
			mine := int32((i+w.padding-a*w.stride)*w.kernel + j + w.padding - b*w.stride)
			from := n*dY.strides[0] + a*dY.strides[2] + b*dY.strides[3]
			at := n*index.strides[0] + a*index.strides[2] + b*index.strides[3]
			for c := range sum {
				if index.data[at+c*index.strides[1]] == mine {
					sum[c] += dY.data[from+c*dY.strides[1]]
				}
			}
		}
	}
}

// covering gives the first and last window that covers a pixel, along one side.
func (w window) covering(pixel, windows int) (first, last int) {
	at := pixel + w.padding
	first = max(0, (at-w.kernel+w.stride)/w.stride)
	if at < w.kernel {
		first = 0
	}
	return first, min(windows-1, at/w.stride)
}

// scatterPixel stores the channels of one pixel.
func scatterPixel[E device.Float](m view[E], n, i, j int, channels []E, accumulate bool) {
	at := n*m.strides[0] + i*m.strides[2] + j*m.strides[3]
	for c, v := range channels {
		out := &m.data[at+c*m.strides[1]]
		if accumulate {
			v += *out
		}
		*out = v
	}
}
