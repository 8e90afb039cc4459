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

// conv2dWeightGradient has two launches; the first is left out when the input
// gradient of the layer makes both.
//
//	kernel                             grid                                 block  scratch
//	weight_gradient_partial            splits, channel tiles, tap sets      128    splits * |dW| * 4
//	depthwise_weight_gradient_partial  splits, channel sets, kernel rows    256    splits * |dW| * 4
//	weight_gradient_reduce             |dW|/32                              256
func (b *builder) conv2dWeightGradient(k *ir.Conv2dWeightGradient) error {
	c, err := b.layer(k.X, k.DWeight, k.DY, k.Kernel, k.Stride, k.Groups)
	if err != nil {
		return err
	}
	types, err := b.types(k.X, k.DY)
	if err != nil {
		return err
	}
	taps := c.kernel * c.kernel
	total := c.outputs * c.groupInputs * taps
	pixels := b.pixels(k.DY)
	partial := func(splits Expr) []field {
		return append([]field{{"x", b.mapText(k.X)}, {"dy", b.mapText(k.DY)}, {"partial", "c->scratch[lane]"},
			{"span", Ceiling(pixels, splits).C()}}, b.sizeFields(k.X, k.DY)...)
	}
	var splits Expr
	switch {
	case b.left: // by the input gradient
		splits = b.rows
	case c.depthwise():
		v := b.paddedVector(4, k.X, k.DY)
		lanes := powerOfTwo((c.inputs+v-1)/v, 32)
		sets := (c.inputs + lanes*v - 1) / (lanes * v)
		splits = b.splits(pixels, 256*8/lanes, sets*c.kernel)
		grid := [3]Expr{splits, Number(sets), Number(c.kernel)}
		b.add("depthwise_plain", "depthwise_weight_gradient_partial", "weight_gradient", 256, grid, Times(splits, Number(4*total)), partial(splits),
			"index_t", c.inputs, c.kernel, c.stride, v, lanes, types[0], types[1])
	default:
		if err := b.need(ir.Activation, k.X, k.DY); err != nil {
			return err
		}
		inputs, passes := c.groupInputs, taps // channels of X in a tile, and tiles of X for one of dY
		if c.narrow() {
			inputs, passes = c.groupInputs*taps, 1
		}
		bn := columns(inputs)
		together := min(passes, map[int]int{16: 9, 32: 3, 64: 3}[bn])
		tiles := ((c.groupWidth + 63) / 64) * ((inputs + bn - 1) / bn)
		sets := (passes + together - 1) / together * c.groups
		splits = Smaller(b.splits(pixels, 256, tiles*sets), Number(max(1, partialBytes/(4*total))))
		grid := [3]Expr{splits, Number(tiles), Number(sets)}
		vectorX := (c.groupInputs%8 == 0 || c.groups == 1) && b.alignedVector(8, k.X) == 8
		vectorDY := (c.groupWidth%8 == 0 || c.groups == 1) && b.alignedVector(8, k.DY) == 8
		b.add("weight_gradient", "weight_gradient_partial", "weight_gradient", tileThreads, grid, Times(splits, Number(4*total)), partial(splits),
			"element", "tf32", "index_t", c.shape(64, bn), together, c.narrow(), vectorX, vectorDY)
	}
	reduce := []field{{"partial", b.scratchText(b.weightFirst)}, {"result", b.address(k.DWeight)}, {"rows", "(int32_t)(" + splits.C() + ")"}}
	// The partial sums of a depthwise layer lie as one group of C outputs, those of
	// a narrow layer as the parameter does.
	inputs, groups := c.inputs, c.groups
	switch {
	case c.depthwise():
		inputs, groups = 1, 1
	case c.narrow():
		inputs, taps = inputs*taps, 1
	}
	b.add("weight_gradient", "weight_gradient_reduce", "reduce", 256, grid1(Number((total+31)/32)), Expr{}, reduce,
		inputs, c.outputs, taps, groups, k.Accumulate)
	return nil
}

// splits divides rows into blocks: at least `least` rows each, and no more
// blocks than the device can hold beside `others` along the other grid axes.
func (b *builder) splits(rows Expr, least, others int) Expr {
	return Smaller(Ceiling(rows, Number(least)), Number(max(1, wantedBlocks/others)))
}
