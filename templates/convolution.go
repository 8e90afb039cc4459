package templates

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// multiprocessors of a large GPU, which should each have work. The number does
// not follow the device, and neither do results.
const multiprocessors = 132

const tileThreads = 128 // of a block of the tile and direct kernels

// convolution holds the constants of one convolution layer.
type convolution struct {
	x, weight, y            ir.Ref // of the forward pass, or their gradients
	inputs, outputs         int
	kernel, stride, groups  int
	groupInputs, groupWidth int // input and output channels of one group
}

// layer reads and checks the constants of a convolution.
func (b *builder) layer(x, weight, y ir.Ref, kernel, stride, groups int) (*convolution, error) {
	if err := b.maps(x, weight, y); err != nil {
		return nil, err
	}
	if err := b.need(ir.Master, weight); err != nil {
		return nil, err
	}
	if err := b.contiguous(weight); err != nil {
		return nil, err
	}
	c := &convolution{x: x, weight: weight, y: y, kernel: kernel, stride: stride, groups: max(groups, 1)}
	var err error
	if c.inputs, err = b.constant(x, 1); err != nil {
		return nil, err
	}
	if c.outputs, err = b.constant(y, 1); err != nil {
		return nil, err
	}
	if kernel < 1 || kernel%2 == 0 || stride < 1 || c.inputs%c.groups != 0 || c.outputs%c.groups != 0 {
		return nil, fmt.Errorf("kernel %d, stride %d and %d groups do not go with %d to %d channels", kernel, stride, c.groups, c.inputs, c.outputs)
	}
	c.groupInputs, c.groupWidth = c.inputs/c.groups, c.outputs/c.groups
	return c, nil
}

// depthwise: one filter a channel.
func (c *convolution) depthwise() bool {
	return c.groups > 1 && c.groupInputs == 1 && c.groupWidth == 1
}

// tiled: worth the tensor cores. With fewer than 8 input channels a group most
// of a tile would be padding.
func (c *convolution) tiled() bool {
	return !c.depthwise() && c.groupInputs >= 8
}

// narrow: too few input channels for a tile of each tap, so that all weights of
// an output channel make one; the forward pass and the weight gradient alone.
func (c *convolution) narrow() bool {
	return !c.depthwise() && !c.tiled()
}

// shape prints the template argument that the tile kernels share.
func (c *convolution) shape(bm, bn int) string {
	return fmt.Sprintf("convolution_shape<%d, %d, %d, %d, %d, %d, %d>", c.inputs, c.outputs, c.kernel, c.stride, c.groups, bm, bn)
}

// columns is the width of a tile for a number of channels.
func columns(channels int) int { return powerOfTwo(max(channels, 16), 64) }

// tileOf picks a tile, rows and columns, for results of `width` channels: the
// largest that still gives every multiprocessor of a large GPU a block, or every
// second one where the next smaller would read twice as much. copies is the
// number of times that the tiles of all pixels and channels are made.
func (b *builder) tileOf(pixels Expr, width, copies int) (bm, bn int, err error) {
	n, err := pixels.Eval(b.nominal)
	if err != nil {
		return 0, 0, err
	}
	widest := columns(width)
	for _, t := range []struct{ bm, bn, blocks int }{{128, 64, 132}, {64, 64, 66}, {64, 32, 0}} {
		bm, bn = t.bm, min(t.bn, widest)
		tiles := (width + bn - 1) / bn
		if (n+int64(bm)-1)/int64(bm)*int64(tiles*copies) >= int64(t.blocks) {
			break
		}
	}
	return bm, bn, nil
}

// pixels is the number of pixels of a map, batch included.
func (b *builder) pixels(r ir.Ref) Expr {
	s := b.stage.Tensor(r).Shape
	return Size(s[0].Mul(s[2]).Mul(s[3]))
}

// conv2d: depthwise kernel, direct kernel or tiles; see also convolvePointwise and
// convolveTaps.
//
//	kernel       grid                                               block
//	convolution  pixels(Y)/BM, channels(Y)/BN, groups               128
//	direct       pixels(Y)/128, groups * channel sets               128
//	depthwise    see depthwise.go
func (b *builder) conv2d(k *ir.Conv2d) error {
	c, err := b.layer(k.X, k.Weight, k.Y, k.Kernel, k.Stride, k.Groups)
	if err != nil {
		return err
	}
	if err := b.vectors(c.outputs, k.Bias); err != nil {
		return err
	}
	return b.convolve(c, false, k.Bias, false)
}

// conv2dInputGradient uses the same families; see conv2d. Tiles have
// stride*stride parity classes along z, over the pixels of one class.
func (b *builder) conv2dInputGradient(k *ir.Conv2dInputGradient) error {
	c, err := b.layer(k.DX, k.Weight, k.DY, k.Kernel, k.Stride, k.Groups)
	if err != nil {
		return err
	}
	return b.convolve(c, true, 0, k.Accumulate)
}

func (b *builder) convolve(c *convolution, gradient bool, bias ir.Ref, accumulate bool) error {
	input, output := c.x, c.y
	if gradient {
		input, output = c.y, c.x
	}
	types, err := b.types(input, output)
	if err != nil {
		return err
	}
	weight, narrow := b.address(c.weight), c.narrow() && !gradient && b.stage.Tensor(input).Elem == ir.Activation
	if c.tiled() || narrow {
		weight = fmt.Sprintf("c->packed + %d * e", b.packed[c.weight])
	}
	arguments := append([]field{{"input", b.mapText(input)}, {"output", b.mapText(output)}, {"weight", weight}, {"bias", b.address(bias)}}, b.sizeFields(input, output)...)
	switch {
	case c.depthwise():
		return b.depthwise(c, gradient, bias != 0, accumulate, input, output, types, arguments)
	case c.tiled() || narrow:
		return b.convolveTiles(c, gradient, bias != 0, accumulate, input, output, types, arguments)
	}
	width := c.groupWidth
	if gradient {
		width = c.groupInputs
	}
	set := powerOfTwo(width, 16)
	grid := [3]Expr{Ceiling(b.pixels(output), Number(tileThreads)), Number(c.groups * ((width + set - 1) / set)), Number(1)}
	b.add("direct", "convolution_direct", "convolution", tileThreads, grid, Expr{}, arguments,
		"index_t", c.shape(64, 16), set, gradient, bias != 0, accumulate, types[0], types[1])
	return nil
}

func (b *builder) convolveTiles(c *convolution, gradient, bias, accumulate bool, input, output ir.Ref, types []any, arguments []field) error {
	if err := b.need(ir.Activation, input); err != nil {
		return err
	}
	width, depth, classes := c.groupWidth, c.groupInputs, 1
	if gradient {
		width, depth, classes = c.groupInputs, c.groupWidth, c.stride*c.stride
	}
	if done, err := b.convolveWarps(c, gradient, bias, accumulate, input, output, types, arguments); done || err != nil {
		return err
	}
	pixels := b.pixels(output)
	if classes > 1 { // the largest class has the pixels of even rows and columns
		s := b.stage.Tensor(output).Shape
		pixels = Times(Size(s[0]), Ceiling(Size(s[2]), Number(c.stride)), Ceiling(Size(s[3]), Number(c.stride)))
	}
	bm, bn, err := b.tileOf(pixels, width, classes*c.groups)
	if err != nil {
		return err
	}
	vector := (depth%8 == 0 || c.groups == 1) && b.alignedVector(8, input) == 8
	v := b.resultVector(width, output)
	even := classes == 1 && b.evenPixels(output) && (c.kernel > 1 || b.evenPixels(input)) && (b.sums == nil || b.evenPixels(b.sums.maps()...))
	blocks, sums, scratch := Ceiling(pixels, Number(bm)), "no_sums", Expr{}
	tiles := (width + bn - 1) / bn
	// Blocks that wait for memory need others beside them, which bounds the
	// registers; the largest tile takes more.
	b.blocks = 4
	if bm*bn == 128*64 {
		b.blocks = 3
	}
	if b.sums != nil {
		blocks = Smaller(blocks, Number(max(1, min(mostRows/classes, multiprocessors*b.blocks/(tiles*classes*c.groups)))))
		b.rows = Times(blocks, Number(classes))
		var fields []field
		sums, fields, scratch = b.sums.launch(b, width*c.groups)
		arguments = append(arguments, fields...)
	}
	grid := [3]Expr{blocks, Number(tiles), Number(classes * c.groups)}
	b.add("convolution", "convolution", "convolution", tileThreads, grid, scratch, arguments,
		"element", "tf32", "index_t", c.shape(bm, bn), gradient, c.narrow(), vector, v, bias, accumulate, types[1], sums, even)
	return nil
}

// convolveWarps gives a layer to the kernel for its kind, if there is one; done is
// false for the layers that the general kernel takes.
func (b *builder) convolveWarps(c *convolution, gradient, bias, accumulate bool, input, output ir.Ref, types []any, arguments []field) (done bool, err error) {
	width, depth := c.groupWidth, c.groupInputs
	if gradient {
		width, depth = depth, width
	}
	v := b.resultVector(width, output)
	if v == 8 && c.strided(gradient) && b.alignedVector(8, input) == 8 {
		if done, err := b.convolveStrided(c, accumulate, input, output, arguments); done || err != nil {
			return done, err
		}
	}
	switch {
	case v == 8 && !gradient && b.wholeRows(c, input):
		return true, b.convolveRows(c, bias, output, arguments)
	case c.groups > 1 || types[1] != "element" || c.narrow() && !gradient:
		return false, nil
	case c.kernel == 1 && c.stride == 1:
		return b.convolvePointwise(c, gradient, bias, accumulate, input, output, arguments)
	case c.window(depth, width, gradient):
		return b.convolveWindow(c, gradient, bias, accumulate, input, output, arguments)
	}
	return b.convolveTaps(c, gradient, bias, accumulate, input, output, arguments)
}

// resultVector is the number of neighbouring channels of one group that are
// written at once, in all of the given maps.
func (b *builder) resultVector(width int, refs ...ir.Ref) int {
	if b.sums != nil {
		refs = append(refs, b.sums.maps()...)
	}
	v := b.mapVector(8, refs...)
	if width == b.channelsOf(refs[0]) {
		v = b.paddedVector(8, refs...)
	} else {
		for width%v != 0 {
			v /= 2
		}
	}
	for b.sums != nil && width%v == 0 && !b.sums.aligned(b, v) {
		v /= 2
	}
	return v
}

// channelsOf is the number of channels of a map.
func (b *builder) channelsOf(r ir.Ref) int {
	c, _ := b.stage.Tensor(r).Shape[1].Constant()
	return c
}
