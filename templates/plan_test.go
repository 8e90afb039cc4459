package templates

import (
	"github.com/reprise-ml/reprise/gen/ir"
)

// shelf builds finished plans by hand: every tensor has its own storage.
type shelf struct{ stage *ir.Stage }

func newShelf(name string) *shelf {
	return &shelf{&ir.Stage{Format: ir.FormatVersion, Name: name, Digest: "test", Multiple: ir.Multiple{Height: 32, Width: 32}}}
}

func (s *shelf) tensor(elem ir.Element, strides func([]ir.Dim) []ir.Dim, isMap bool, shape ...ir.Dim) ir.Ref {
	storage := s.stage.AddStorage(ir.Storage{Name: "t", Space: ir.Arena, Elem: elem, Size: ir.Elements(shape)})
	return s.stage.AddTensor(ir.Tensor{Name: "t", Shape: shape, Elem: elem, Map: isMap, Storage: storage, Strides: strides(shape)})
}

// fmap is a channels-last map of activations, its sides divided by down.
func (s *shelf) fmap(channels, down int) ir.Ref {
	return s.tensor(ir.Activation, ir.ChannelsLast, true, side(channels, down)...)
}

// padded is an fmap whose pixels lie at multiples of eight elements.
func (s *shelf) padded(channels, down int) ir.Ref {
	shape := side(channels, down)
	held := append([]ir.Dim(nil), shape...)
	held[1] = ir.Const((channels + 7) / 8 * 8)
	storage := s.stage.AddStorage(ir.Storage{Name: "t", Space: ir.Arena, Elem: ir.Activation, Size: ir.Elements(held)})
	return s.stage.AddTensor(ir.Tensor{Name: "t", Shape: shape, Elem: ir.Activation, Map: true, Storage: storage, Strides: ir.ChannelsLast(held)})
}

func (s *shelf) index(channels, down int) ir.Ref {
	return s.tensor(ir.Index, ir.ChannelsLast, true, side(channels, down)...)
}

func side(channels, down int) []ir.Dim {
	multiple := ir.Multiple{Height: 32, Width: 32}
	h, _ := ir.H.Divide(down, multiple)
	w, _ := ir.W.Divide(down, multiple)
	return []ir.Dim{ir.N, ir.Const(channels), h, w}
}

func (s *shelf) master(shape ...int) ir.Ref {
	dims := make([]ir.Dim, len(shape))
	for i, v := range shape {
		dims[i] = ir.Const(v)
	}
	return s.tensor(ir.Master, ir.RowMajor, false, dims...)
}

func (s *shelf) rows(shape ...ir.Dim) ir.Ref {
	return s.tensor(ir.Activation, ir.RowMajor, false, shape...)
}

func (s *shelf) counter(n int) ir.Ref {
	return s.tensor(ir.Counter, ir.RowMajor, false, ir.Const(n))
}

func (s *shelf) forward(k ir.Kernel) {
	s.stage.Forward = append(s.stage.Forward, ir.Op{Name: k.Kind(), Do: k, Pos: ir.Pos{Package: "example", File: "net.go", Line: len(s.stage.Forward) + 1}})
}

// layerCase is a convolution with its gradients.
type layerCase struct {
	inputs, outputs, kernel, stride, groups int
	bias                                    bool
	padded                                  bool
}

// fmap is a map of the layer.
func (l layerCase) fmap(s *shelf, channels, down int) ir.Ref {
	if l.padded {
		return s.padded(channels, down)
	}
	return s.fmap(channels, down)
}

// layerCases covers the tile, direct and depthwise kernels, narrow layers,
// aligned, odd and padded channel counts, groups and strides.
var layerCases = []layerCase{
	{3, 16, 3, 2, 1, false, false},
	{16, 32, 3, 1, 1, false, false},
	{21, 42, 3, 2, 1, true, false},
	{64, 128, 1, 1, 1, true, false},
	{48, 64, 5, 1, 1, false, false},
	{64, 64, 3, 2, 4, false, false},
	{12, 6, 3, 1, 3, true, false},
	{32, 32, 3, 1, 32, true, false},
	{21, 21, 5, 2, 21, false, false},
	{16, 16, 3, 1, 1, false, false},
	{16, 32, 3, 2, 1, false, false},
	{21, 42, 3, 2, 1, true, true},
	{42, 21, 1, 1, 1, false, true},
	{21, 21, 3, 1, 21, true, true},
	{4, 10, 3, 1, 2, true, false},
	{24, 24, 7, 1, 24, false, false},
	{72, 80, 3, 1, 1, false, false},
	{40, 72, 3, 2, 1, false, false},
	{136, 40, 1, 1, 1, false, false},
	{24, 15, 1, 1, 1, true, false},
	{64, 40, 3, 2, 1, true, false},
	{96, 64, 3, 1, 1, false, false},
	{72, 64, 3, 2, 1, false, false},
	{24, 96, 3, 2, 1, false, false},
	{1, 24, 3, 2, 1, true, false},
	{2, 40, 3, 2, 1, false, false},
}

func (s *shelf) layers() {
	for _, l := range layerCases {
		x, y := l.fmap(s, l.inputs, 4), l.fmap(s, l.outputs, 4*l.stride)
		dx, dy := l.fmap(s, l.inputs, 4), l.fmap(s, l.outputs, 4*l.stride)
		weight, dweight := s.master(l.outputs, l.inputs/l.groups, l.kernel, l.kernel), s.master(l.outputs, l.inputs/l.groups, l.kernel, l.kernel)
		var bias ir.Ref
		if l.bias {
			bias = s.master(l.outputs)
		}
		s.forward(&ir.Conv2d{X: x, Weight: weight, Bias: bias, Y: y, Kernel: l.kernel, Stride: l.stride, Groups: l.groups})
		for _, accumulate := range []bool{false, true} {
			s.forward(&ir.Conv2dInputGradient{DY: dy, Weight: weight, DX: dx, Kernel: l.kernel, Stride: l.stride, Groups: l.groups, Accumulate: accumulate})
			s.forward(&ir.Conv2dWeightGradient{X: x, DY: dy, DWeight: dweight, Kernel: l.kernel, Stride: l.stride, Groups: l.groups, Accumulate: accumulate})
		}
	}
}

// sums are convolutions whose result the next operation reduces, so that they
// take the sums on the way.
func (s *shelf) sums() {
	for _, l := range layerCases {
		vectors := func(c int) (v [6]ir.Ref) {
			for i := range v {
				v[i] = s.master(c)
			}
			return v
		}
		x, y, weight := l.fmap(s, l.inputs, 4), l.fmap(s, l.outputs, 4*l.stride), s.master(l.outputs, l.inputs/l.groups, l.kernel, l.kernel)
		s.forward(&ir.Conv2d{X: x, Weight: weight, Y: y, Kernel: l.kernel, Stride: l.stride, Groups: l.groups})
		v := vectors(l.outputs)
		s.forward(&ir.BatchStatistics{X: y, Mean: v[0], Rstd: v[1], RunningMean: v[2], RunningVar: v[3], Batches: s.counter(1), Epsilon: 1e-3, Momentum: 0.03, Cumulative: l.bias})
		dx, dy, below := l.fmap(s, l.inputs, 4), l.fmap(s, l.outputs, 4*l.stride), l.fmap(s, l.inputs, 4)
		v = vectors(l.inputs)
		for _, accumulate := range []bool{false, true} {
			s.forward(&ir.Conv2dInputGradient{DY: dy, Weight: weight, DX: dx, Kernel: l.kernel, Stride: l.stride, Groups: l.groups, Accumulate: accumulate})
			if accumulate && l.groups == l.inputs { // both gradients and the sums from one kernel
				s.forward(&ir.Conv2dWeightGradient{X: x, DY: dy, DWeight: s.master(l.outputs, 1, l.kernel, l.kernel), Kernel: l.kernel, Stride: l.stride, Groups: l.groups})
			}
			s.forward(&ir.NormalizeReduce{DY: dx, X: below, Mean: v[0], Rstd: v[1], Scale: v[2], Shift: v[3], DScale: v[4], DShift: v[5], Activation: ir.SiLU})
		}
	}
}

func (s *shelf) channelKernels() {
	for _, m := range []func(c, down int) ir.Ref{s.fmap, s.padded} {
		s.channelKernelsOf(m)
	}
}

func (s *shelf) channelKernelsOf(fmap func(c, down int) ir.Ref) {
	for _, c := range []int{21, 64} {
		x, dy, y := fmap(c, 4), fmap(c, 4), fmap(c, 4)
		mean, rstd, scale, shift, dscale, dshift := s.master(c), s.master(c), s.master(c), s.master(c), s.master(c), s.master(c)
		s.forward(&ir.BatchStatistics{X: x, Mean: mean, Rstd: rstd, RunningMean: s.master(c), RunningVar: s.master(c), Batches: s.counter(1), Epsilon: 1e-3, Momentum: 0.03, Cumulative: c == 64})
		s.forward(&ir.RunningStatistics{RunningMean: s.master(c), RunningVar: s.master(c), Mean: mean, Rstd: rstd, Epsilon: 1e-3})
		for _, f := range []ir.Function{ir.Identity, ir.SiLU, ir.ReLU, ir.LeakyReLU, ir.Sigmoid, ir.Tanh} {
			s.forward(&ir.Normalize{X: x, Mean: mean, Rstd: rstd, Scale: scale, Shift: shift, Y: y, Activation: f, Slope: 0.1})
			s.forward(&ir.Activate{X: x, Y: y, Activation: f, Slope: 0.1})
			s.forward(&ir.ActivateGradient{DY: dy, X: x, DX: y, Activation: f, Slope: 0.1, Accumulate: f == ir.SiLU})
			s.forward(&ir.NormalizeReduce{DY: dy, X: x, Mean: mean, Rstd: rstd, Scale: scale, Shift: shift, DScale: dscale, DShift: dshift, Activation: f, Slope: 0.1})
			s.forward(&ir.NormalizeGradient{DY: dy, X: x, Mean: mean, Rstd: rstd, Scale: scale, Shift: shift, DScale: dscale, DShift: dshift, DX: y, Activation: f, Slope: 0.1, Accumulate: f == ir.SiLU})
		}
		s.forward(&ir.Normalize{X: x, Mean: mean, Rstd: rstd, Scale: scale, Shift: shift, Residual: dy, Y: y, Activation: ir.SiLU})
		s.forward(&ir.ChannelSum{DY: dy, DBias: dshift, Accumulate: c == 64})
		s.forward(&ir.Add{A: x, B: dy, Y: y})
		s.forward(&ir.Multiply{A: x, B: dy, Y: y, Accumulate: c == 64})
		s.forward(&ir.Scale{X: x, Y: y, Factor: 0.1, Accumulate: c == 64})
		s.forward(&ir.Copy{X: x, Y: y, Accumulate: c == 64})
		s.forward(&ir.Fill{Y: y, Value: 1e-3})
		s.forward(&ir.Dropout{X: x, State: s.counter(2), Mask: dy, Y: y, Probability: 0.5})
	}
}

func (s *shelf) spatialKernels() {
	for _, c := range []int{21, 64} {
		x, y, index := s.fmap(c, 4), s.fmap(c, 4), s.index(c, 4)
		s.forward(&ir.MaxPool{X: x, Y: y, Index: index, Kernel: 5, Stride: 1, Padding: 2})
		s.forward(&ir.MaxPool{X: x, Y: s.fmap(c, 8), Kernel: 3, Stride: 2, Padding: 1})
		s.forward(&ir.MaxPoolGradient{DY: y, Index: index, DX: x, Kernel: 5, Stride: 1, Padding: 2, Accumulate: c == 64})
		pooled := s.rows(ir.N, ir.Const(c))
		s.forward(&ir.AveragePool{X: x, Y: pooled})
		s.forward(&ir.AveragePoolGradient{DY: pooled, DX: x, Accumulate: c == 64})
		s.forward(&ir.Upsample{X: s.fmap(c, 8), Y: x})
		s.forward(&ir.UpsampleGradient{DY: x, DX: s.fmap(c, 8), Accumulate: c == 64})
	}
}

func (s *shelf) matrixKernels() {
	anchors := side(1, 32)[2].Mul(side(1, 32)[3])
	heads, keys, values := ir.Const(2), ir.Const(32), ir.Const(64)
	q, k, v := s.rows(ir.N, heads, keys, anchors), s.rows(ir.N, heads, keys, anchors), s.rows(ir.N, heads, values, anchors)
	scores, y := s.rows(ir.N, heads, anchors, anchors), s.rows(ir.N, heads, values, anchors)
	s.forward(&ir.MatMul{A: q, B: k, Y: scores, TransposeA: true, Alpha: 0.125})
	s.forward(&ir.Softmax{X: scores, Y: scores})
	s.forward(&ir.MatMul{A: v, B: scores, Y: y, TransposeB: true, Alpha: 1, Accumulate: true})
	s.forward(&ir.SoftmaxGradient{DY: scores, Y: scores, DX: scores})
	s.forward(&ir.SoftmaxGradient{DY: scores, Y: scores, DX: scores, Accumulate: true})
	s.attentionKernels()
	s.linearKernels()
	x, weight := s.rows(ir.N, ir.Const(100)), s.master(10, 100)
	logits := s.rows(ir.N, ir.Const(10))
	s.forward(&ir.MatMul{A: x, B: weight, Bias: s.master(10), Y: logits, TransposeB: true, Alpha: 1})
	s.forward(&ir.MatMul{A: logits, B: x, Y: s.master(10, 100), TransposeA: true, Alpha: 1})
	s.forward(&ir.ChannelSum{DY: logits, DBias: s.master(10)})
}

// heads are matrices (N, 2, width, positions) whose positions are the pixels of a
// channels-last map.
func (s *shelf) heads(width int, positions ir.Dim) ir.Ref {
	return s.tensor(ir.Activation, func(shape []ir.Dim) []ir.Dim {
		pixel := shape[1].Mul(shape[2])
		return []ir.Dim{pixel.Mul(positions), shape[2], ir.Const(1), pixel}
	}, false, ir.N, ir.Const(2), ir.Const(width), positions)
}

// attentionKernels are attention over heads as in the tasks, of widths that fill
// tiles, that do not, and of the most that kernels serve; and over rows, with fewer
// keys than queries and keys of which each element lies by itself.
func (s *shelf) attentionKernels() {
	pixels := func(down int) ir.Dim { return side(1, down)[2].Mul(side(1, down)[3]) }
	for _, c := range []struct {
		key, value, down int
		sets             []int
	}{{32, 64, 4, []int{3, 7}}, {4, 10, 8, []int{1, 2, 3, 4, 5, 6, 7}}, {64, 128, 8, []int{7}}} {
		n := pixels(c.down)
		heads := func(width int) ir.Ref { return s.heads(width, n) }
		k := ir.Attention{
			Q: heads(c.key), K: heads(c.key), V: heads(c.value), Y: heads(c.value), LogSum: s.tensor(ir.Master, ir.RowMajor, false, ir.N, ir.Const(2), n),
			Alpha: 0.25, TransposeQ: true, TransposeK: true, TransposeV: true, TransposeY: true,
		}
		s.attention(k, c.sets, heads(c.value), heads(c.key), heads(c.key), heads(c.value))
	}
	queries, keys, width := pixels(4), pixels(8), ir.Const(40)
	k := ir.Attention{
		Q: s.rows(ir.N, queries, ir.Const(24)), K: s.rows(ir.N, ir.Const(24), keys), V: s.rows(ir.N, keys, width), Y: s.rows(ir.N, queries, width),
		LogSum: s.tensor(ir.Master, ir.RowMajor, false, ir.N, queries), Alpha: 0.125, TransposeK: true,
	}
	s.attention(k, []int{7}, s.rows(ir.N, queries, width), s.rows(ir.N, queries, ir.Const(24)), s.rows(ir.N, ir.Const(24), keys), s.rows(ir.N, keys, width))
}

// attention adds a kernel, and its gradients in sets: 1 is that of Q, 2 of K, 4 of V.
func (s *shelf) attention(k ir.Attention, sets []int, dy, dq, dk, dv ir.Ref) {
	s.forward(&k)
	for _, set := range sets {
		g := &ir.AttentionGradient{
			Q: k.Q, K: k.K, V: k.V, Y: k.Y, LogSum: k.LogSum, DY: dy, Alpha: k.Alpha,
			TransposeQ: k.TransposeQ, TransposeK: k.TransposeK, TransposeV: k.TransposeV, TransposeY: k.TransposeY,
			AccumulateQ: set == 1, AccumulateK: set > 3, AccumulateV: set > 5,
		}
		if set&1 != 0 {
			g.DQ = dq
		}
		if set&2 != 0 {
			g.DK = dk
		}
		if set&4 != 0 {
			g.DV = dv
		}
		s.forward(g)
	}
}

func (s *shelf) linearKernels() {
	one := s.rows(ir.Const(1))
	for _, sizes := range [][2]int{{64, 96}, {21, 9}} {
		matrices := func() ir.Ref { return s.rows(ir.Const(3), ir.Const(sizes[0]), ir.Const(sizes[1])) }
		x, y, z := matrices(), matrices(), matrices()
		s.forward(&ir.LinearCombination{Xs: []ir.Ref{x}, Factors: []ir.Ref{one}, Coefficients: []float64{1}, Y: y, Accumulate: sizes[0] == 64})
		s.forward(&ir.LinearCombination{Xs: []ir.Ref{x, y, x}, Factors: []ir.Ref{one, 0, one}, Coefficients: []float64{0.5, 1, -2}, Y: z})
		s.forward(&ir.NormalizeMatrices{X: x, Y: y, Epsilon: 1e-7})
		gram := s.rows(ir.Const(3), ir.Const(sizes[0]), ir.Const(sizes[0]))
		s.forward(&ir.MatMul{A: y, B: y, Y: gram, TransposeB: true, Alpha: 1})
	}
}

// everyKind is a plan that holds every kind of kernel in several shapes.
func everyKind() *ir.Stage {
	s := newShelf("every")
	s.layers()
	s.sums()
	s.channelKernels()
	s.spatialKernels()
	s.matrixKernels()
	return s.stage
}
