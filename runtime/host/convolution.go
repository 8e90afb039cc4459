package host

import (
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// conv2d prepares a convolution.
func (b *binder[T]) conv2d(k *ir.Conv2d) launch {
	g, ok := b.convolution(k.X, k.Weight, k.Y, "x", "y", k.Kernel, k.Stride, k.Groups)
	if !ok {
		return nil
	}
	cout := g.outer.shape[1]
	bias := b.optional("bias", k.Bias, cout)
	if b.err != nil {
		return nil
	}
	c := &correlation[T]{source: g.inner, result: g.outer, stride: k.Stride, groups: k.Groups}
	for u := range k.Kernel {
		for v := range k.Kernel {
			c.taps = append(c.taps, tap{u - g.pad, v - g.pad})
		}
	}
	c.weights = b.work.floats.take(g.weight.elements())
	if bias.data != nil {
		c.bias = b.work.floats.take(cout)
	}
	pack := phase{tasks: cout, run: func(o, _ int) {
		if c.bias != nil {
			c.bias[o] = bias.data[o*bias.strides[0]]
		}
		g.packForward(c, o)
	}}
	return launch{pack, c.prepare(b.work)}
}

// geometry2d is what the three kernels of a convolution share. inner is the
// map on the input side (N, Cin, H, W), outer on the output side.
type geometry2d[E device.Float] struct {
	inner, outer view[E]
	weight       view[E] // (Cout, Cin/groups, kernel, kernel)
	pad          int
	kernel       int
}

func (b *binder[T]) convolution(inner, weight, outer ir.Ref, innerRole, outerRole string, kernel, stride, groups int) (geometry2d[T], bool) {
	g := geometry2d[T]{pad: (kernel - 1) / 2, kernel: kernel}
	if !b.check(kernel > 0 && kernel%2 == 1 && stride > 0 && groups > 0, "kernel %d must be odd, stride %d and groups %d positive", kernel, stride, groups) {
		return g, false
	}
	g.inner = b.float(innerRole, inner, anySize, anySize, anySize, anySize)
	n, cin, h, w := g.inner.shape[0], g.inner.shape[1], g.inner.shape[2], g.inner.shape[3]
	g.outer = b.float(outerRole, outer, n, anySize, (h-1)/stride+1, (w-1)/stride+1)
	cout := g.outer.shape[1]
	b.check(cin%groups == 0 && cout%groups == 0, "%d groups do not divide %d input and %d output channels", groups, cin, cout)
	g.weight = b.float("weight", weight, cout, cin/groups, kernel, kernel)
	return g, b.err == nil
}

// packForward writes the weights of output channel o in the order that the
// correlation wants.
func (g *geometry2d[E]) packForward(c *correlation[E], o int) {
	channels := c.sourceChannels()
	s := g.weight.strides
	for t := range c.taps {
		from := g.weight.data[o*s[0]+t/g.kernel*s[2]+t%g.kernel*s[3]:]
		if c.depthwise() {
			c.weights[t*c.groups+o] = from[0]
			continue
		}
		to := c.weights[(o*len(c.taps)+t)*channels:][:channels]
		for i := range to {
			to[i] = from[i*s[1]]
		}
	}
}

// conv2dInputGradient prepares the gradient of a convolution for its input.
// Input pixels that differ by a multiple of the stride meet the same part of
// the kernel, so each of the stride*stride classes of pixels is a correlation
// of the output gradient with stride 1.
func (b *binder[T]) conv2dInputGradient(k *ir.Conv2dInputGradient) launch {
	g, ok := b.convolution(k.DX, k.Weight, k.DY, "dX", "dY", k.Kernel, k.Stride, k.Groups)
	if !ok {
		return nil
	}
	var l launch
	for p := range min(k.Stride, g.inner.shape[2]) {
		for q := range min(k.Stride, g.inner.shape[3]) {
			l = append(l, b.inputGradientClass(k, &g, p, q)...)
		}
	}
	return l
}

// inputGradientClass prepares the pixels (p + a*stride, q + b*stride).
func (b *binder[T]) inputGradientClass(k *ir.Conv2dInputGradient, g *geometry2d[T], p, q int) launch {
	s := g.inner.strides
	class := view[T]{
		data:    g.inner.data[p*s[2]+q*s[3]:],
		shape:   []int{g.inner.shape[0], g.inner.shape[1], (g.inner.shape[2]-p-1)/k.Stride + 1, (g.inner.shape[3]-q-1)/k.Stride + 1},
		strides: []int{s[0], s[1], s[2] * k.Stride, s[3] * k.Stride},
	}
	c := &correlation[T]{source: g.outer, result: class, stride: 1, groups: k.Groups, accumulate: k.Accumulate}
	var kernel []tap // where in the kernel each tap takes its weight
	for u := (p + g.pad) % k.Stride; u < k.Kernel; u += k.Stride {
		for v := (q + g.pad) % k.Stride; v < k.Kernel; v += k.Stride {
			kernel = append(kernel, tap{u, v})
			c.taps = append(c.taps, tap{(p + g.pad - u) / k.Stride, (q + g.pad - v) / k.Stride})
		}
	}
	if len(c.taps) == 0 {
		if k.Accumulate {
			return nil
		}
		return b.set(class, 0)
	}
	c.weights = b.work.floats.take(class.shape[1] * c.patchLength())
	pack := phase{tasks: class.shape[1], run: func(i, _ int) { g.packBackward(c, kernel, i) }}
	return launch{pack, c.prepare(b.work)}
}

// packBackward writes the weights of input channel i in the order that the
// correlation wants.
func (g *geometry2d[E]) packBackward(c *correlation[E], kernel []tap, i int) {
	channels, perGroup := c.sourceChannels(), c.resultChannels()
	s := g.weight.strides
	group, inGroup := i/perGroup, i%perGroup
	for t, at := range kernel {
		from := g.weight.data[group*channels*s[0]+inGroup*s[1]+at.row*s[2]+at.column*s[3]:]
		if c.depthwise() {
			c.weights[t*c.groups+i] = from[0]
			continue
		}
		to := c.weights[(i*len(kernel)+t)*channels:][:channels]
		for o := range to {
			to[o] = from[o*s[0]]
		}
	}
}
