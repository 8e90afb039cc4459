package templates

import "github.com/reprise-ml/reprise/gen/ir"

const (
	depthwiseThreads = 256 // of a block of all depthwise kernels
	sharedBytes      = 48 << 10
)

// window is the geometry of the depthwise kernels with a tile of the source in
// shared memory.
type window struct {
	vector, lanes, sets int // channels of a thread, threads of a pixel, blocks of a pixel
	strip               int // rows of a tile
	tiles               Expr
}

// lanesOf picks how many threads share a pixel of c channels: the number that
// leaves the fewest idle, of those whose tiles fit in shared memory in FP32. both
// is for the kernel of both gradients, which has a second tile. 0: none fits.
func lanesOf(c, kernel, vector, strip int, both bool) int {
	best, least := 0, 0
	for _, lanes := range []int{32, 16, 8} {
		across, width := depthwiseThreads/lanes, lanes*vector
		elements := ((strip+kernel-1)*(across+kernel-1) + kernel*kernel) * width
		if both {
			elements += strip * across * width
		}
		threads := (c + width - 1) / width * lanes
		if 4*elements <= sharedBytes && (best == 0 || threads < least) {
			best, least = lanes, threads
		}
	}
	return best
}

// shortStrip is the height of the smallest tile.
const shortStrip = 8

// windowed: stride 1 and a kernel whose tile fits in shared memory.
func (c *convolution) windowed() bool {
	return c.depthwise() && c.stride == 1 && lanesOf(c.inputs, c.kernel, 2, shortStrip, false) > 0
}

// windowOf lays the result of a depthwise layer, or dX, into tiles. vector is how
// many channels a thread can write.
func (b *builder) windowOf(c *convolution, output ir.Ref, vector int, both bool) (window, error) {
	w := window{vector: min(vector, 2)}
	for _, w.strip = range []int{16, shortStrip} {
		w.lanes = lanesOf(c.inputs, c.kernel, w.vector, w.strip, both)
		if w.lanes == 0 {
			continue
		}
		w.sets = (c.inputs + w.lanes*w.vector - 1) / (w.lanes * w.vector)
		s := b.stage.Tensor(output).Shape
		w.tiles = Times(Size(s[0]), Ceiling(Size(s[2]), Number(w.strip)), Ceiling(Size(s[3]), Number(depthwiseThreads/w.lanes)))
		tiles, err := w.tiles.Eval(b.nominal)
		if err != nil {
			return w, err
		}
		if tiles*int64(w.sets) >= multiprocessors {
			break
		}
	}
	return w, nil
}

// resultOf is the number of channels that a thread of the depthwise kernels
// writes at once, in all of the given maps, at most limit.
func (b *builder) resultOf(limit, c int, refs ...ir.Ref) int {
	if b.sums != nil {
		refs = append(refs, b.sums.maps()...)
	}
	v := b.paddedVector(limit, refs...)
	for b.sums != nil && c%v == 0 && !b.sums.aligned(b, v) {
		v /= 2
	}
	return v
}

// depthwise: forward pass and input gradient.
//
//	kernel                    grid                                      block
//	depthwise                 tiles(Y) or fewer, channels/(lanes*V)     256
//	depthwise_gradients       tiles(dX) or fewer, channels/(lanes*V)    256
//	depthwise_plain           pixels(Y)*lanes/256, channels/(lanes*V)   256
//	depthwise_gradient_plain  pixels(dX)*lanes/256, channels/(lanes*V)  256
func (b *builder) depthwise(c *convolution, gradient, bias, accumulate bool, input, output ir.Ref, types []any, arguments []field) error {
	if !c.windowed() {
		b.depthwisePlain(c, gradient, bias, accumulate, input, output, types, arguments)
		return nil
	}
	if b.weight != nil {
		return b.depthwiseGradients(c, accumulate, types, arguments)
	}
	w, err := b.windowOf(c, output, b.resultOf(2, c.inputs, output), false)
	if err != nil {
		return err
	}
	blocks := w.tiles
	sums, fields, scratch := "no_sums", []field(nil), Expr{}
	if b.sums != nil {
		blocks = Smaller(blocks, Number(mostRows))
		b.rows = blocks
		sums, fields, scratch = b.sums.launch(b, c.inputs)
	}
	b.blocks = 3
	if b.sums == nil || b.sums.statistics != nil {
		b.blocks = 4
	}
	vector := b.alignedVector(8, input) == 8
	b.add("depthwise", "depthwise", "convolution", depthwiseThreads, [3]Expr{blocks, Number(w.sets), Number(1)}, scratch, append(arguments, fields...),
		"index_t", c.inputs, c.kernel, w.vector, w.lanes, w.strip, vector, gradient, bias, accumulate, types[0], types[1], sums)
	return nil
}

// depthwisePlain makes what has no tile in shared memory.
func (b *builder) depthwisePlain(c *convolution, gradient, bias, accumulate bool, input, output ir.Ref, types []any, arguments []field) {
	v := b.resultOf(4, c.inputs, input, output)
	lanes := powerOfTwo((c.inputs+v-1)/v, 32)
	sets := (c.inputs + lanes*v - 1) / (lanes * v)
	blocks := Ceiling(b.pixels(output), Number(depthwiseThreads/lanes))
	if gradient {
		b.add("depthwise_plain", "depthwise_gradient_plain", "convolution", depthwiseThreads, [3]Expr{blocks, Number(sets), Number(1)}, Expr{}, arguments,
			"index_t", c.inputs, c.kernel, c.stride, v, lanes, accumulate, types[0], types[1])
		return
	}
	sums, fields, scratch := "no_sums", []field(nil), Expr{}
	if b.sums != nil {
		blocks = Smaller(blocks, Number(mostRows))
		b.rows = blocks
		sums, fields, scratch = b.sums.launch(b, c.inputs)
	}
	b.add("depthwise_plain", "depthwise_plain", "convolution", depthwiseThreads, [3]Expr{blocks, Number(sets), Number(1)}, scratch, append(arguments, fields...),
		"index_t", c.inputs, c.kernel, c.stride, v, lanes, bias, types[0], types[1], sums)
}

// depthwiseGradients makes the input gradient and, from the same reading of dY,
// the first pass of the weight gradient.
func (b *builder) depthwiseGradients(c *convolution, accumulate bool, types []any, arguments []field) error {
	w, err := b.windowOf(c, c.x, b.resultOf(2, c.inputs, c.x), true)
	if err != nil {
		return err
	}
	x, err := b.typeOf(b.weight.X)
	if err != nil {
		return err
	}
	sums, fields, scratch := "no_sums", []field(nil), Expr{}
	b.blocks = 3
	if b.sums != nil {
		b.blocks = 2 // their coefficients take registers
	}
	// As many blocks as are held at once: each leaves partial sums for the filters.
	blocks := Smaller(w.tiles, Number(max(1, b.blocks*multiprocessors/w.sets)))
	if b.sums != nil {
		b.rows = blocks
		sums, fields, scratch = b.sums.launch(b, c.inputs)
	}
	b.weightRows = blocks
	if b.weightPartial, err = b.keep(Times(blocks, Number(4*c.inputs*c.kernel*c.kernel))); err != nil {
		return err
	}
	b.batch.open++
	arguments = append(arguments, fields...)
	for i := range arguments {
		arguments[i].name = "dx." + arguments[i].name
	}
	arguments = append(arguments, field{"x", b.mapText(b.weight.X)}, field{"weight_partial", b.weightPartial})
	vector := b.alignedVector(8, c.y) == 8 && b.alignedVector(8, b.weight.X) == 8
	b.add("depthwise_gradients", "depthwise_gradients", "depthwise_gradients", depthwiseThreads, [3]Expr{blocks, Number(w.sets), Number(1)}, scratch, arguments,
		"index_t", c.inputs, c.kernel, w.vector, w.lanes, w.strip, vector, accumulate, types[0], types[1], x, sums)
	return nil
}

// together finds the weight gradients of a program whose first pass the kernel of
// an input gradient makes: for each such input gradient its weight gradient, by
// position. Both belong to one depthwise layer and lie on one lane. X must be there
// before the program starts.
func together(stage *ir.Stage, ops []ir.Op, mode ir.Mode) map[int]int {
	pairs := map[int]int{}
	for i := range ops {
		k, ok := ops[i].Do.(*ir.Conv2dInputGradient)
		if !ok || !in(&ops[i], mode) {
			continue
		}
		b := &builder{stage: stage, op: &ops[i]}
		c, err := b.layer(k.DX, k.Weight, k.DY, k.Kernel, k.Stride, k.Groups)
		if err != nil || !c.windowed() || lanesOf(c.inputs, c.kernel, 2, shortStrip, true) == 0 {
			continue
		}
		for j := i + 1; j < len(ops); j++ {
			if ops[j].Lane != ops[i].Lane || !in(&ops[j], mode) {
				continue
			}
			if w, ok := ops[j].Do.(*ir.Conv2dWeightGradient); ok && ofOneLayer(stage, k, w) && !written(stage, ops, mode, w.X) {
				pairs[i] = j
				break
			}
		}
	}
	return pairs
}

// ofOneLayer tells whether two gradients read the same dY for the same layer.
func ofOneLayer(stage *ir.Stage, k *ir.Conv2dInputGradient, w *ir.Conv2dWeightGradient) bool {
	return w.DY == k.DY && w.Kernel == k.Kernel && w.Stride == k.Stride && w.Groups == k.Groups &&
		ir.EqualShapes(stage.Tensor(w.X).Shape, stage.Tensor(k.DX).Shape)
}

// written tells whether a program writes to the storage of a tensor.
func written(stage *ir.Stage, ops []ir.Op, mode ir.Mode, ref ir.Ref) bool {
	for i := range ops {
		if in(&ops[i], mode) && writes(stage, &ops[i], ref) {
			return true
		}
	}
	return false
}
