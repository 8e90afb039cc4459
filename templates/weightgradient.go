package templates

import (
	"github.com/reprise-ml/reprise/gen/ir"
)

// wantedBlocks is how many blocks a reduction is split into at most: four for
// each multiprocessor of a large GPU. It is a constant, not a property of the
// device, so that sums have the same order everywhere.
const wantedBlocks = 528

// partialBytes bounds the partial sums of a weight gradient, which are written
// and read once more.
const partialBytes = 16 << 20

// conv2dWeightGradient has one launch that leaves partial sums, unless the input
// gradient of the layer has left them, and the last of a batch one more that adds
// those of all (see batch).
//
//	kernel                             grid                                 block  kept
//	weight_gradient_partial            splits, channel tiles, tap sets      128    splits * |dW| * 4
//	weight_gradient_halo               splits, channel tiles                128    splits * |dW| * 4
//	weight_gradient_flat               splits, channel tiles                128    splits * |dW| * 4
//	weight_gradient_narrow             splits, channel tiles                128    splits * |dW| * 4
//	depthwise_weight_gradient_partial  splits, channel sets, kernel rows    256    splits * |dW| * 4
//	weight_gradient_reduce             sum of |dW| * lanes / 1024           256
func (b *builder) conv2dWeightGradient(k *ir.Conv2dWeightGradient) error {
	c, err := b.layer(k.X, k.DWeight, k.DY, k.Kernel, k.Stride, k.Groups)
	if err != nil {
		return err
	}
	types, err := b.types(k.X, k.DY)
	if err != nil {
		return err
	}
	w := &weightGradient{builder: b, convolution: c, op: k, pixels: b.pixels(k.DY), total: c.outputs * c.groupInputs * c.kernel * c.kernel}
	switch {
	case b.left: // by the input gradient
		w.parts = b.rows
		w.batch.open--
		return w.second(b.weightPartial)
	case c.depthwise():
		return w.depthwiseLaunch(types)
	}
	if err := b.need(ir.Activation, k.X, k.DY); err != nil {
		return err
	}
	return w.tiles()
}

// weightGradient is what the launches of one weight gradient share.
type weightGradient struct {
	*builder
	*convolution
	op     *ir.Conv2dWeightGradient
	pixels Expr // of dY
	total  int  // weights
	parts  Expr // partial sums of a weight
}

// splits divides rows into blocks: at least `least` rows each, and no more
// blocks than the device can hold beside `others` along the other grid axes.
func (b *builder) splits(rows Expr, least, others int) Expr {
	return Smaller(Ceiling(rows, Number(least)), Number(max(1, wantedBlocks/others)))
}

// partial adds the first launch.
func (w *weightGradient) partial(file, template string, threads, y, z int, constants ...any) error {
	address, err := w.keep(Times(w.parts, Number(4*w.total)))
	if err != nil {
		return err
	}
	fields := append([]field{{"x", w.mapText(w.op.X)}, {"dy", w.mapText(w.op.DY)}, {"partial", address},
		{"span", Ceiling(w.pixels, w.parts).C()}}, w.sizeFields(w.op.X, w.op.DY)...)
	w.add(file, template, "weight_gradient", threads, [3]Expr{w.parts, Number(y), Number(z)}, Expr{}, fields, constants...)
	return w.second(address)
}

// second adds to the batch what is left to do for partial sums.
func (w *weightGradient) second(address string) error {
	r := secondPass{partial: address, result: w.address(w.op.DWeight), rows: w.parts, inputs: w.groupInputs, outputs: w.groupWidth,
		taps: w.kernel * w.kernel, groups: w.groups, accumulate: w.op.Accumulate}
	switch {
	case w.convolution.depthwise(): // partial sums [tap][channel]
		r.outputs, r.groups = w.outputs, 1
	case w.narrow(): // as the parameter lies
		r.inputs, r.taps = w.groupInputs*r.taps, 1
	}
	return w.batch.add(r, w.nominal)
}

func (w *weightGradient) depthwiseLaunch(types []any) error {
	v := w.paddedVector(4, w.op.X, w.op.DY)
	lanes := powerOfTwo((w.inputs+v-1)/v, 32)
	sets := (w.inputs + lanes*v - 1) / (lanes * v)
	w.parts = w.splits(w.pixels, 256*8/lanes, sets*w.kernel)
	return w.partial("depthwise_plain", "depthwise_weight_gradient_partial", 256, sets, w.kernel, "index_t", w.inputs, w.kernel, w.stride, v, lanes, types[0], types[1])
}

// tiles adds the first launch of a dense layer.
func (w *weightGradient) tiles() error {
	taps := w.kernel * w.kernel
	vectorX := (w.groupInputs%8 == 0 || w.groups == 1) && w.alignedVector(8, w.op.X) == 8
	vectorDY := (w.groupWidth%8 == 0 || w.groups == 1) && w.alignedVector(8, w.op.DY) == 8
	if w.kernel == 3 && w.groups == 1 && w.stride <= 2 && !w.narrow() && vectorX && vectorDY {
		return w.halo()
	}
	if w.kernel == 1 && w.stride == 1 && w.groups == 1 && !w.narrow() && vectorX && w.flat(w.op.X) {
		if vectorDY && w.flat(w.op.DY) || w.outputs <= 16 && w.evenRows(w.op.DY) {
			return w.product(vectorDY && w.flat(w.op.DY))
		}
	}
	if w.narrow() && w.groups == 1 && vectorDY && w.alignedRows(w.op.X) {
		return w.image()
	}
	inputs, passes := w.groupInputs, taps // channels of X in a tile, and tiles of X for one of dY
	if w.narrow() {
		inputs, passes = w.groupInputs*taps, 1
	}
	bn := columns(inputs)
	together := min(passes, map[int]int{16: 9, 32: 3, 64: 3}[bn])
	tiles := ((w.groupWidth + 63) / 64) * ((inputs + bn - 1) / bn)
	sets := (passes + together - 1) / together * w.groups
	least := 256
	if !vectorDY { // each element waits for memory by itself, and dW is small
		least = 64
	}
	w.bounded(w.splits(w.pixels, least, tiles*sets))
	return w.partial("weight_gradient", "weight_gradient_partial", tileThreads, tiles, sets,
		"element", "tf32", "index_t", w.shape(64, bn), together, w.narrow(), vectorX, vectorDY)
}

// halo adds the first launch of a 3x3 layer whose source is read once for all taps.
func (w *weightGradient) halo() error {
	bm, bn := columns(w.outputs), min(columns(w.inputs), 32)
	tiles := ((w.outputs + bm - 1) / bm) * ((w.inputs + bn - 1) / bn)
	t := warpTile{threads: tileThreads, blocks: 4}
	switch { // as registers allow
	case bm*bn == 64*32:
		t.threads, t.blocks = 2*tileThreads, 1
	case bm*bn == 32*32:
		t.threads, t.blocks = 2*tileThreads, 2
	}
	height := t.haloRing(bm, bn, w.stride)
	w.blocks, w.shared = t.blocks, t.shared
	w.bounded(w.splits(w.pixels, 2*t.threads, tiles*wantedBlocks/(multiprocessors*t.blocks)))
	err := w.partial("weight_gradient_halo", "weight_gradient_halo", t.threads, tiles, 1, "element", "tf32", "index_t", w.shape(bm, bn), t.threads, height, t.stages, t.shared)
	w.blocks, w.shared = 0, 0
	return err
}

// haloRing sets the stages of the ring and their bytes, and gives the height of a
// stage's tile: the tallest of which three stages, up to four, leave room for the
// blocks of a multiprocessor.
func (t *warpTile) haloRing(bm, bn, stride int) (height int) {
	limit := min(multiprocessorShared/t.blocks-1<<10, dynamicBytes)
	for height = 8; ; height /= 2 {
		stage := bytes16(((height-1)*stride+3)*(15*stride+3), bn) + bytes16(height*16, bm)
		t.stages = min(limit/stage, 4)
		if t.shared = t.stages * stage; t.stages >= 3 {
			return height
		}
	}
}

// image adds the first launch of a layer of few input channels whose rows are
// copied whole.
func (w *weightGradient) image() error {
	weights := w.inputs * w.kernel * w.kernel
	bm, bn := columns(w.outputs), columns(weights)
	tiles := ((w.outputs + bm - 1) / bm) * ((weights + bn - 1) / bn)
	w.bounded(w.splits(w.pixels, 256, tiles))
	return w.partial("weight_gradient_narrow", "weight_gradient_narrow", tileThreads, tiles, 1, "element", "tf32", "index_t", w.shape(bm, bn))
}

// alignedRows tells whether the pixels of a map have no gaps between them, and
// each row begins at a multiple of eight elements.
func (b *builder) alignedRows(r ir.Ref) bool {
	t := b.stage.Tensor(r)
	if len(t.Strides) != 4 || !isOne(t.Strides[1]) || !t.Strides[3].Equal(t.Shape[1]) {
		return false
	}
	for _, d := range []ir.Dim{t.Offset, t.Strides[0], t.Strides[2]} {
		if _, ok := d.Divide(8, b.stage.Multiple); !ok {
			return false
		}
	}
	return true
}

// flat tells whether the pixels of a map lie one after the other.
func (w *weightGradient) flat(r ir.Ref) bool {
	t := w.stage.Tensor(r)
	return len(t.Strides) == 4 && t.Strides[2].Equal(t.Shape[3].Mul(t.Strides[3])) && t.Strides[0].Equal(t.Shape[2].Mul(t.Strides[2]))
}

// product adds the first launch of a 1x1 layer: one matrix product over all pixels.
// Without vectorDY each element of dY waits for memory by itself, and dW is small,
// so blocks are more.
func (w *weightGradient) product(vectorDY bool) error {
	longest := 128
	if !vectorDY {
		longest = 64
	}
	bm, bn := tileSide(w.outputs, longest), tileSide(w.inputs, longest)
	tiles := ((w.outputs + bm - 1) / bm) * ((w.inputs + bn - 1) / bn)
	t := warpTile{threads: tileThreads, blocks: 4}
	if bm*bn >= 64*64 {
		t.threads, t.blocks = 2*tileThreads, 2
	}
	depth := 64 // of a stage
	if bm+bn > 192 {
		depth = 32
	}
	stage := bytes16(depth, bm) + bytes16(depth, bn)
	t.stages = min(min(multiprocessorShared/t.blocks-1<<10, dynamicBytes)/stage, 4)
	t.shared = t.stages * stage
	least := 2 * t.threads
	if !vectorDY {
		least = 2 * depth
	}
	w.blocks, w.shared = t.blocks, t.shared
	w.bounded(w.splits(w.pixels, least, tiles*t.threads/tileThreads))
	err := w.partial("weight_gradient_flat", "weight_gradient_flat", t.threads, tiles, 1, "element", "tf32", "index_t", w.shape(bm, bn), t.threads, depth, t.stages, t.shared, vectorDY)
	w.blocks, w.shared = 0, 0
	return err
}

// tileSide is the length of a side of the tile of a matrix product, alike for all
// tiles of the side. Two warps share a side beyond 64.
func tileSide(channels, longest int) int {
	tiles := (channels + longest - 1) / longest
	side := ((channels+tiles-1)/tiles + 15) / 16 * 16
	if side > 64 {
		side = (side + 31) / 32 * 32
	}
	return side
}

// bounded sets the number of parts, no more than the bound on partial sums allows.
func (w *weightGradient) bounded(splits Expr) {
	w.parts = Smaller(splits, Number(max(1, partialBytes/(4*w.total))))
}
