package host

import (
	"gonum.org/v1/gonum/blas"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

const (
	dotLength  = 256 // pixels that one matrix product of a weight gradient sums over
	dotTasks   = 16  // tasks that a weight gradient is cut into, if its pixels allow it
	dotMinimum = 1024
)

// weightGradient computes the gradient of a convolution for its weight, one
// image after another. Both maps are first copied to one plane per channel,
// padded with zeros: the input into stride*stride classes of pixels as in
// conv2dInputGradient. In such planes a tap of the kernel is a constant shift,
// so the gradient of the weights of one tap is a product of two matrices of
// long rows, with no patches.
//
// Pixels are cut into splits whose number depends on the shapes alone, and the
// sums of the splits are added in order.
type weightGradient[T device.Float] struct {
	geometry2d[T]
	stride, groups int
	classes        int // of pixels, along one side
	height, width  int // of an input plane
	pixels         int // of an output plane, with padding
	innerLD        int // elements from one input plane to the next
	outerLD        int
	splits, length int // pixels are cut into splits of length

	innerPlanes []T // (class row, class column, Cin, innerLD)
	outerPlanes []T // (Cout, outerLD)
	sums        []T // (split, group, tap, Cout/groups, Cin/groups)
}

// conv2dWeightGradient prepares the gradient of a convolution for its weight.
func (b *binder[T]) conv2dWeightGradient(k *ir.Conv2dWeightGradient) launch {
	g, ok := b.convolution(k.X, k.DWeight, k.DY, "x", "dY", k.Kernel, k.Stride, k.Groups)
	if !ok {
		return nil
	}
	w := &weightGradient[T]{geometry2d: g, stride: k.Stride, groups: k.Groups}
	w.plan(b.work)
	rows := w.classes*w.height + w.outer.shape[2]
	tasks := w.groups * k.Kernel * k.Kernel * w.outerBlocks() * w.innerBlocks() * w.splits
	var l launch
	for image := range w.inner.shape[0] {
		l = append(l,
			phase{tasks: rows, run: func(row, _ int) { w.fillRow(image, row) }},
			phase{tasks: tasks, run: func(task, _ int) { w.multiply(image, task) }})
	}
	return append(l, phase{tasks: w.outer.shape[1], run: func(o, _ int) { w.store(o, k.Accumulate) }})
}

// plan decides sizes and takes scratch.
func (w *weightGradient[T]) plan(work *workspace[T]) {
	reach := (w.kernel - 1) / w.stride
	w.classes = min(w.stride, w.kernel)
	w.height, w.width = w.outer.shape[2]+reach, w.outer.shape[3]+reach
	w.pixels = (w.outer.shape[2]-1)*w.width + w.outer.shape[3]
	w.innerLD, w.outerLD = spread(w.height*w.width), spread(w.outer.shape[2]*w.width)
	blocks := w.groups * w.kernel * w.kernel * w.outerBlocks() * w.innerBlocks()
	w.splits = max(1, min((dotTasks+blocks-1)/blocks, w.pixels/dotMinimum))
	w.length = ((w.pixels+w.splits-1)/w.splits + dotLength - 1) / dotLength * dotLength
	w.splits = (w.pixels + w.length - 1) / w.length
	w.innerPlanes = work.floats.take(w.classes * w.classes * w.inner.shape[1] * w.innerLD)
	w.outerPlanes = work.floats.take(w.outer.shape[1] * w.outerLD)
	w.sums = work.floats.take(w.splits * w.weight.elements())
}

// spread rounds a plane up so that planes start at different lines of a cache.
func spread(elements int) int { return (elements+15)/16*16 + 16 }

func (w *weightGradient[T]) outerBlocks() int {
	return (w.outer.shape[1]/w.groups + gemmBlock - 1) / gemmBlock
}

func (w *weightGradient[T]) innerBlocks() int {
	return (w.weight.shape[1] + gemmBlock - 1) / gemmBlock
}

// fillRow copies one row of one class of the input, or one row of the output
// gradient, of an image into its planes.
func (w *weightGradient[T]) fillRow(image, row int) {
	if row >= w.classes*w.height {
		i := row - w.classes*w.height
		fillPlanes(w.outerPlanes[i*w.width:], w.outerLD, w.outer, image, i, 0, 1, w.width)
		return
	}
	p, a := row/w.height, row%w.height
	for q := range w.classes {
		planes := w.innerPlanes[(p*w.classes+q)*w.inner.shape[1]*w.innerLD:]
		fillPlanes(planes[a*w.width:], w.innerLD, w.inner, image, a*w.stride+p-w.pad, q-w.pad, w.stride, w.width)
	}
}

// fillPlanes sets planes[c*ld+b] = m[image, c, row, first+b*step] for b below
// width, with zeros outside the map.
func fillPlanes[E device.Float](planes []E, ld int, m view[E], image, row, first, step, width int) {
	height, columns := m.shape[2], m.shape[3]
	begin := (max(0, -first) + step - 1) / step
	end := min(width, (columns-first+step-1)/step)
	if row < 0 || row >= height {
		begin = width
	}
	begin = min(begin, width)
	end = max(end, begin)
	for c := range m.shape[1] {
		out := planes[c*ld:][:width]
		clear(out[:begin])
		clear(out[end:])
		from, stride := image*m.strides[0]+c*m.strides[1]+row*m.strides[2]+first*m.strides[3], step*m.strides[3]
		for b := begin; b < end; b++ {
			out[b] = m.data[from+b*stride]
		}
	}
}

// multiply adds one image to the sums of one task.
func (w *weightGradient[T]) multiply(image, task int) {
	cin, cout := w.weight.shape[1], w.outer.shape[1]/w.groups
	split := task % w.splits
	task /= w.splits
	c := task % w.innerBlocks() * gemmBlock
	task /= w.innerBlocks()
	o := task % w.outerBlocks() * gemmBlock
	task /= w.outerBlocks()
	taps := w.kernel * w.kernel
	t, group := task%taps, task/taps
	u, v := t/w.kernel, t%w.kernel
	class := u%w.stride*w.classes + v%w.stride
	shift := u/w.stride*w.width + v/w.stride
	inner := w.innerPlanes[(class*w.inner.shape[1]+group*cin+c)*w.innerLD+shift:]
	outer := w.outerPlanes[(group*cout+o)*w.outerLD:]
	sums := w.sums[((split*w.groups+group)*taps+t)*cout*cin+o*cin+c:]
	beta := T(1)
	if image == 0 {
		beta = 0
	}
	end := min((split+1)*w.length, w.pixels)
	for at := split * w.length; at < end; at += dotLength {
		gemm(blas.NoTrans, blas.Trans, min(gemmBlock, cout-o), min(gemmBlock, cin-c), min(dotLength, end-at), 1,
			outer[at:], w.outerLD, inner[at:], w.innerLD, beta, sums, cin)
		beta = 1
	}
}

// store adds the splits of output channel o and writes its gradient.
func (w *weightGradient[T]) store(o int, accumulate bool) {
	cin, cout := w.weight.shape[1], w.outer.shape[1]/w.groups
	taps := w.kernel * w.kernel
	group, inGroup := o/cout, o%cout
	s := w.weight.strides
	for t := range taps {
		for c := range cin {
			var sum T
			for split := range w.splits {
				sum += w.sums[(((split*w.groups+group)*taps+t)*cout+inGroup)*cin+c]
			}
			out := &w.weight.data[o*s[0]+c*s[1]+t/w.kernel*s[2]+t%w.kernel*s[3]]
			if accumulate {
				sum += *out
			}
			*out = sum
		}
	}
}
