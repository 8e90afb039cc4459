package host

import (
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// averagePool prepares the mean over each whole map, summed in float64.
func (b *binder[T]) averagePool(k *ir.AveragePool) launch {
	x := b.float("x", k.X, anySize, anySize, anySize, anySize)
	y := b.float("y", k.Y, x.shape[0], x.shape[1])
	channels, pixels := x.shape[1], x.shape[2]*x.shape[3]
	if b.err != nil {
		return nil
	}
	sums := b.work.sums.take(b.work.workers * channels)
	return launch{{tasks: x.shape[0], run: func(n, worker int) {
		sum := sums[worker*channels:][:channels]
		clear(sum)
		for p := range pixels {
			from := n*x.strides[0] + p/x.shape[3]*x.strides[2] + p%x.shape[3]*x.strides[3]
			for c := range sum {
				sum[c] += float64(x.data[from+c*x.strides[1]])
			}
		}
		for c, v := range sum {
			y.data[n*y.strides[0]+c*y.strides[1]] = T(v / float64(pixels))
		}
	}}}
}

// averagePoolGradient prepares DX (+)= DY / (H*W), repeated over each map.
func (b *binder[T]) averagePoolGradient(k *ir.AveragePoolGradient) launch {
	dX := b.float("dX", k.DX, anySize, anySize, anySize, anySize)
	dY := b.float("dY", k.DY, dX.shape[0], dX.shape[1])
	share := 1 / T(dX.shape[2]*dX.shape[3])
	repeated := view[T]{data: dY.data, shape: dX.shape, strides: []int{dY.strides[0], dY.strides[1], 0, 0}}
	return b.rowwise(k.Accumulate, func(r [][]T, _ []T) {
		for i, v := range r[0][:len(r[1])] {
			r[1][i] = v * share
		}
	}, repeated, dX)
}

// upsample prepares Y[i, j] = X[floor(i*h/H), floor(j*w/W)].
func (b *binder[T]) upsample(k *ir.Upsample) launch {
	x := b.float("x", k.X, anySize, anySize, anySize, anySize)
	y := b.float("y", k.Y, x.shape[0], x.shape[1], anySize, anySize)
	if b.err != nil {
		return nil
	}
	return launch{{tasks: y.shape[0] * y.shape[2], run: func(task, _ int) {
		n, i := task/y.shape[2], task%y.shape[2]
		source := n*x.strides[0] + i*x.shape[2]/y.shape[2]*x.strides[2]
		for j := range y.shape[3] {
			from := source + j*x.shape[3]/y.shape[3]*x.strides[3]
			at := n*y.strides[0] + i*y.strides[2] + j*y.strides[3]
			if x.strides[1] == 1 && y.strides[1] == 1 {
				copy(y.data[at:][:y.shape[1]], x.data[from:][:y.shape[1]])
				continue
			}
			for c := range y.shape[1] {
				y.data[at+c*y.strides[1]] = x.data[from+c*x.strides[1]]
			}
		}
	}}}
}

// upsampleGradient prepares, for each source element, the sum of its copies in
// row-major order: no two tasks add to one element (field case PO-10).
func (b *binder[T]) upsampleGradient(k *ir.UpsampleGradient) launch {
	dX := b.float("dX", k.DX, anySize, anySize, anySize, anySize)
	dY := b.float("dY", k.DY, dX.shape[0], dX.shape[1], anySize, anySize)
	channels := dX.shape[1]
	if b.err != nil {
		return nil
	}
	sums := b.work.floats.take(b.work.workers * channels)
	return launch{{tasks: dX.shape[0] * dX.shape[2], run: func(task, worker int) {
		n, i := task/dX.shape[2], task%dX.shape[2]
		sum := sums[worker*channels:][:channels]
		for j := range dX.shape[3] {
			copiesOf(dY, dX.shape, n, i, j, sum)
			scatterPixel(dX, n, i, j, sum, k.Accumulate)
		}
	}}}
}

// copiesOf sums for all channels the gradients of the copies of pixel (i, j).
func copiesOf[E device.Float](dY view[E], source []int, n, i, j int, sum []E) {
	clear(sum)
	rows, columns := dY.shape[2], dY.shape[3]
	for a := ceilDivide(i*rows, source[2]); a < ceilDivide((i+1)*rows, source[2]); a++ {
		for b := ceilDivide(j*columns, source[3]); b < ceilDivide((j+1)*columns, source[3]); b++ {
			from := n*dY.strides[0] + a*dY.strides[2] + b*dY.strides[3]
			for c := range sum {
				sum[c] += dY.data[from+c*dY.strides[1]]
			}
		}
	}
}

func ceilDivide(a, b int) int { return (a + b - 1) / b }
