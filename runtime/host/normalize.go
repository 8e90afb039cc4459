package host

import (
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// normalize prepares Y = act((X - Mean) * Rstd * Scale + Shift) + Residual.
func (b *binder[T]) normalize(k *ir.Normalize) launch {
	y := b.float("y", k.Y, anySize, anySize, anySize, anySize)
	act, _ := b.function(k.Activation, k.Slope)
	views := []view[T]{
		b.like(y, "x", k.X),
		b.channels("mean", k.Mean, y), b.channels("rstd", k.Rstd, y),
		b.channels("scale", k.Scale, y), b.channels("shift", k.Shift, y),
	}
	residual := k.Residual != 0
	if residual {
		views = append(views, b.like(y, "residual", k.Residual))
	}
	return b.rowwise(false, func(r [][]T, z []T) {
		out := r[len(r)-1]
		if !residual {
			z = out
		}
		affine(z, r[0], r[1], r[2], r[3], r[4])
		if act != nil {
			act(z, z)
		}
		if !residual {
			return
		}
		add := r[5][:len(out)]
		for i, v := range z[:len(out)] {
			out[i] = v + add[i]
		}
	}, append(views, y)...)
}

// channels finds a vector (C) and repeats it over the map y (N, C, H, W).
func (b *binder[T]) channels(role string, ref ir.Ref, y view[T]) view[T] {
	return perChannel(b.float(role, ref, y.shape[1]), y, 1)
}

// affine is z = (x - mean) * rstd * scale + shift.
func affine[E device.Float](z, x, mean, rstd, scale, shift []E) {
	n := len(z)
	x, mean, rstd, scale, shift = x[:n], mean[:n], rstd[:n], scale[:n], shift[:n]
	for i := range z {
		z[i] = (x[i]-mean[i])*rstd[i]*scale[i] + shift[i]
	}
}

// runningStatistics prepares Mean = RunningMean, Rstd = 1/sqrt(RunningVar + Epsilon).
func (b *binder[T]) runningStatistics(k *ir.RunningStatistics) launch {
	mean := b.float("mean", k.Mean, anySize)
	rstd := b.like(mean, "rstd", k.Rstd)
	runningMean, runningVar := b.like(mean, "runningMean", k.RunningMean), b.like(mean, "runningVar", k.RunningVar)
	return launch{{tasks: 1, run: func(int, int) {
		for c := range mean.shape[0] {
			mean.data[c*mean.strides[0]] = runningMean.data[c*runningMean.strides[0]]
			variance := float64(runningVar.data[c*runningVar.strides[0]])
			rstd.data[c*rstd.strides[0]] = T(1 / math.Sqrt(variance+k.Epsilon))
		}
	}}}
}

// normalizeReduce prepares DShift = sum g and DScale = sum g * (X - Mean) * Rstd,
// with g = DY * act'(the normalised X).
func (b *binder[T]) normalizeReduce(k *ir.NormalizeReduce) launch {
	x := b.float("x", k.X, anySize, anySize, anySize, anySize)
	dY := b.like(x, "dY", k.DY)
	c := x.shape[1]
	_, derivative := b.function(k.Activation, k.Slope)
	vectors := [4]view[T]{b.float("mean", k.Mean, c), b.float("rstd", k.Rstd, c), b.float("scale", k.Scale, c), b.float("shift", k.Shift, c)}
	dScale, dShift := b.float("dScale", k.DScale, c), b.float("dShift", k.DShift, c)
	if b.err != nil {
		return nil
	}
	packed := b.work.floats.take(4 * c)
	mean, rstd, scale, shift := packed[:c], packed[c:2*c], packed[2*c:3*c], packed[3*c:]
	spare := b.work.floats.take(b.work.workers * c)
	sums := b.channelSums(2, 1, func(sums [][]float64, r [][]T, worker int) {
		g := spare[worker*c:][:c]
		gradientBeforeActivation(g, r[0], r[1], mean, rstd, scale, shift, derivative)
		sumG, sumGX := sums[0][:c], sums[1][:c]
		in := r[1][:c]
		for i, v := range g {
			sumG[i] += float64(v)
			sumGX[i] += float64(v) * float64((in[i]-mean[i])*rstd[i])
		}
	}, dY, x)
	pack := phase{tasks: 1, run: func(int, int) {
		for i, v := range vectors {
			for j := range c {
				packed[i*c+j] = v.data[j*v.strides[0]]
			}
		}
	}}
	finish := phase{tasks: 1, run: func(int, int) {
		for i := range c {
			dShift.data[i*dShift.strides[0]] = T(sums.total[i])
			dScale.data[i*dScale.strides[0]] = T(sums.total[c+i])
		}
	}}
	return launch{pack, sums.partial, sums.reduce, finish}
}

// gradientBeforeActivation is g = dY * act'((x - mean) * rstd * scale + shift).
func gradientBeforeActivation[E device.Float](g, dY, x, mean, rstd, scale, shift []E, derivative func(dst, src []E)) {
	if derivative == nil {
		copy(g, dY)
		return
	}
	affine(g, x, mean, rstd, scale, shift)
	derivative(g, g)
	for i, v := range dY[:len(g)] {
		g[i] *= v
	}
}

// normalizeGradient prepares DX (+)= Scale*Rstd * (g - DShift/M - xhat*DScale/M).
func (b *binder[T]) normalizeGradient(k *ir.NormalizeGradient) launch {
	dX := b.float("dX", k.DX, anySize, anySize, anySize, anySize)
	_, derivative := b.function(k.Activation, k.Slope)
	share := 1 / T(dX.shape[0]*dX.shape[2]*dX.shape[3])
	return b.rowwise(k.Accumulate, func(r [][]T, g []T) {
		n := len(g)
		x, mean, rstd, scale := r[1][:n], r[2][:n], r[3][:n], r[4][:n]
		gradientBeforeActivation(g, r[0], x, mean, rstd, scale, r[5], derivative)
		dScale, dShift, out := r[6][:n], r[7][:n], r[8][:n]
		for i, v := range g {
			xhat := (x[i] - mean[i]) * rstd[i]
			out[i] = scale[i] * rstd[i] * (v - (dShift[i]+xhat*dScale[i])*share)
		}
	}, b.like(dX, "dY", k.DY), b.like(dX, "x", k.X),
		b.channels("mean", k.Mean, dX), b.channels("rstd", k.Rstd, dX),
		b.channels("scale", k.Scale, dX), b.channels("shift", k.Shift, dX),
		b.channels("dScale", k.DScale, dX), b.channels("dShift", k.DShift, dX), dX)
}
