package host

import (
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// batchStatistics prepares mean and 1/sqrt(biased variance + Epsilon) of X per
// channel and the move of the running statistics, in two passes with float64
// sums: the mean, then the squares around it.
//
// One value per channel has no variance and is an error, as in PyTorch (field
// case SG-05).
func (b *binder[T]) batchStatistics(k *ir.BatchStatistics) launch {
	x := b.float("x", k.X, anySize, anySize, anySize, anySize)
	c, n := x.shape[1], x.shape[0]*x.shape[2]*x.shape[3]
	mean, rstd := b.float("mean", k.Mean, c), b.float("rstd", k.Rstd, c)
	runningMean, runningVar := b.float("runningMean", k.RunningMean, c), b.float("runningVar", k.RunningVar, c)
	batches := b.counter("batches", k.Batches, 1)
	if !b.check(n != 1, "batch norm of %s has one value per channel; use a larger batch or image", b.op.Name) {
		return nil
	}
	first := b.channelSums(1, 1, func(sums [][]float64, r [][]T, _ int) {
		sum := sums[0][:c]
		for i, v := range r[0][:c] {
			sum[i] += float64(v)
		}
	}, x)
	centre := b.work.sums.take(c)
	second := b.channelSums(1, 1, func(sums [][]float64, r [][]T, _ int) {
		sum, centre := sums[0][:c], centre[:c]
		for i, v := range r[0][:c] {
			d := float64(v) - centre[i]
			sum[i] += d * d
		}
	}, x)
	means := phase{tasks: 1, run: func(int, int) {
		for i := range centre {
			centre[i] = first.total[i] / float64(n)
		}
	}}
	finish := phase{tasks: 1, run: func(int, int) {
		batches[0]++
		weight := k.Momentum
		if k.Cumulative {
			weight = 1 / float64(batches[0])
		}
		for i := range c {
			squares := second.total[i]
			mean.data[i*mean.strides[0]] = T(centre[i])
			rstd.data[i*rstd.strides[0]] = T(1 / math.Sqrt(squares/float64(n)+k.Epsilon))
			move(&runningMean.data[i*runningMean.strides[0]], centre[i], weight)
			move(&runningVar.data[i*runningVar.strides[0]], squares/float64(n-1), weight)
		}
	}}
	return launch{first.partial, first.reduce, means, second.partial, second.reduce, finish}
}

// move takes a running statistic towards a new value.
func move[E device.Float](running *E, value, weight float64) {
	*running = E((1-weight)*float64(*running) + weight*value)
}

// channelSum prepares DBias (+)= the sum of DY over all dimensions but the
// channels: dimension 1 of maps (N, C, H, W), the last of everything else.
func (b *binder[T]) channelSum(k *ir.ChannelSum) launch {
	dY := b.tensor("dY", k.DY)
	if !b.check(len(dY.shape) >= 1, "operand dY has no dimension") {
		return nil
	}
	axis := len(dY.shape) - 1
	if len(dY.shape) == 4 {
		axis = 1
	}
	c := dY.shape[axis]
	dBias := b.float("dBias", k.DBias, c)
	if b.err != nil {
		return nil
	}
	sums := b.channelSums(1, axis, func(sums [][]float64, r [][]T, _ int) {
		sum := sums[0][:c]
		for i, v := range r[0][:c] {
			sum[i] += float64(v)
		}
	}, dY)
	finish := phase{tasks: 1, run: func(int, int) {
		for i, v := range sums.total {
			out := &dBias.data[i*dBias.strides[0]]
			if k.Accumulate {
				v += float64(*out)
			}
			*out = T(v)
		}
	}}
	return launch{sums.partial, sums.reduce, finish}
}
