package templates

import "github.com/reprise-ml/reprise/gen/ir"

// warpTile is how a launch cuts its work whose warps make 16 * rows pixels x 32
// channels: tiles of bm pixels x bn channels, and a ring of stages.
type warpTile struct {
	bm, bn, rows, stages int
	threads, shared      int // of a block; shared memory in bytes
	blocks               int // that a multiprocessor holds
}

// What a multiprocessor of a large GPU holds: bytes of shared memory, and threads
// of 128 registers each.
const (
	multiprocessorShared  = 227 << 10
	multiprocessorThreads = 512
)

// warpTile picks the largest tile that gives every multiprocessor of a large GPU a
// block, or every second one where the next smaller would read twice as much.
// memory gives the bytes of shared memory of a tile, those of each stage apart;
// fits is false where the smallest tile takes too much.
func (b *builder) warpTile(pixels Expr, width int, memory func(bm, bn int) (fixed, stage int)) (t warpTile, fits bool, err error) {
	n, err := pixels.Eval(b.nominal)
	if err != nil {
		return t, false, err
	}
	widest := max(32, powerOfTwo(width, 128))
	for _, c := range []struct{ bm, bn, rows, blocks int }{{64, 128, 2, 66}, {128, 64, 2, 132}, {64, 64, 2, 66}, {128, 32, 2, 132}, {64, 32, 1, 66}, {32, 32, 1, 0}} {
		if c.bn > widest {
			continue
		}
		candidate := warpTile{bm: c.bm, bn: c.bn, rows: c.rows, threads: c.bm * c.bn / (16 * c.rows)}
		if !candidate.fit(memory(c.bm, c.bn)) {
			continue
		}
		t, fits = candidate, true
		if tiles := int64((width + c.bn - 1) / c.bn); (n+int64(c.bm)-1)/int64(c.bm)*tiles >= int64(c.blocks) {
			break
		}
	}
	return t, fits, nil
}

// fit takes as many stages, up to four, as leave room for two blocks.
func (t *warpTile) fit(fixed, stage int) bool {
	for t.stages = 4; t.stages >= 2; t.stages-- {
		t.shared = fixed + t.stages*stage
		t.blocks = min(multiprocessorShared/(t.shared+1<<10), multiprocessorThreads/t.threads)
		if t.shared <= dynamicBytes && (t.blocks > 1 || t.stages == 2) {
			return true
		}
	}
	return false
}

// convolvePointwise: 1x1 in 16 bits; other precisions take the same launch. done
// is false for layers that the kernel does not know.
//
//	kernel     grid                             block
//	pointwise  pixels(Y)/BM, channels(Y)/BN, 1  BM * BN / (16 * rows)
func (b *builder) convolvePointwise(c *convolution, gradient, bias, accumulate bool, input, output ir.Ref, arguments []field) (done bool, err error) {
	width, depth := c.groupWidth, c.groupInputs
	if gradient {
		width, depth = depth, width
	}
	plainInput, plainOutput := b.evenPixels(input) && b.alignedVector(8, input) == 8, b.plainResult(width, output)
	if !b.evenRows(input, output) || !plainOutput && (accumulate || b.sums != nil) {
		return false, nil
	}
	slices := (depth + 63) / 64
	slice := ((depth+slices-1)/slices + 15) / 16 * 16
	t, fits, err := b.warpTile(b.pixels(output), width, func(bm, bn int) (int, int) {
		weight := bytes16(bn, slices*slice)
		if gradient {
			weight = bytes16(slices*slice, bn)
		}
		return weight, bytes16(bm, slice)
	})
	if err != nil || !fits {
		return false, err
	}
	sums, grid, scratch, arguments := b.warpTileGrid(t, Ceiling(b.pixels(output), Number(t.bm)), width, arguments)
	b.add("pointwise", "convolution_pointwise", "convolution", t.threads, grid, scratch, arguments,
		"element", "tf32", "index_t", c.shape(t.bm, t.bn), t.rows, t.stages, t.shared, gradient, plainInput, plainOutput, bias, accumulate, "element", sums)
	return true, nil
}

// convolveTaps: several taps in 16 bits, and gradients of stride 1; as
// convolvePointwise.
func (b *builder) convolveTaps(c *convolution, gradient, bias, accumulate bool, input, output ir.Ref, arguments []field) (done bool, err error) {
	width, depth := c.groupWidth, c.groupInputs
	if gradient {
		width, depth = depth, width
	}
	if c.kernel > 15 || depth%32 != 0 || gradient && c.stride > 1 || b.alignedVector(8, input) != 8 || !b.plainResult(width, output) {
		return false, nil
	}
	slice := 32
	if depth%64 == 0 {
		slice = 64
	}
	t, fits, err := b.warpTile(b.pixels(output), width, func(bm, bn int) (int, int) {
		weight := bytes16(bn, slice)
		if gradient {
			weight = bytes16(slice, bn)
		}
		return 0, bytes16(bm, slice) + weight
	})
	if err != nil || !fits {
		return false, err
	}
	sums, grid, scratch, arguments := b.warpTileGrid(t, Ceiling(b.pixels(output), Number(t.bm)), width, arguments)
	b.add("taps", "convolution_taps", "convolution", t.threads, grid, scratch, arguments,
		"element", "tf32", "index_t", c.shape(t.bm, t.bn), t.rows, t.stages, t.shared, gradient, bias, accumulate, "element", sums)
	return true, nil
}

// window: 3x3 of so few channels that the window of the source and all weights lie
// in shared memory together.
func (c *convolution) window(depth, width int, gradient bool) bool {
	few := depth == 16 || depth == 32 && c.stride == 1
	return c.kernel == 3 && c.stride <= 2 && !(gradient && c.stride > 1) && few && width <= 32
}

// convolveWindow: 3x3 of few channels in 16 bits, and gradients of stride 1; as
// convolvePointwise.
//
//	kernel  grid                            block
//	window  tiles(Y) of 8 x 16, 1, 1        128
func (b *builder) convolveWindow(c *convolution, gradient, bias, accumulate bool, input, output ir.Ref, arguments []field) (done bool, err error) {
	width, depth, stride := c.groupWidth, c.groupInputs, c.stride
	if gradient {
		width, depth = depth, width
	}
	if b.alignedVector(8, input) != 8 || b.resultVector(width, output) != 8 {
		return false, nil
	}
	t := warpTile{bm: 128, bn: columns(width), threads: tileThreads}
	weight := bytes16(t.bn, depth)
	if gradient {
		weight = bytes16(depth, t.bn)
	}
	t.shared = 9*weight + 2*bytes16((7*stride+3)*(15*stride+3), depth)
	t.blocks = min(multiprocessorShared/(t.shared+1<<10), multiprocessorThreads/t.threads)
	s := b.stage.Tensor(output).Shape
	tiles := Times(Size(s[0]), Ceiling(Size(s[2]), Number(8)), Ceiling(Size(s[3]), Number(16)))
	sums, grid, scratch, arguments := b.warpTileGrid(t, tiles, width, arguments)
	b.add("window", "convolution_window", "convolution", t.threads, grid, scratch, arguments,
		"element", "tf32", "index_t", c.shape(t.bm, t.bn), t.shared, gradient, bias, accumulate, "element", sums)
	return true, nil
}

// warpTileGrid gives the launch of all tiles of pixels: no more blocks than run at once, the sums
// that they take, and their memory.
func (b *builder) warpTileGrid(t warpTile, all Expr, width int, arguments []field) (sums string, grid [3]Expr, scratch Expr, extended []field) {
	tiles := (width + t.bn - 1) / t.bn
	blocks := Smaller(all, Number(max(1, min(mostRows, multiprocessors*t.blocks/tiles))))
	sums, extended = "no_sums", arguments
	if b.sums != nil {
		b.rows = blocks
		var fields []field
		sums, fields, scratch = b.sums.launch(b, width)
		extended = append(extended, fields...)
	}
	b.blocks, b.shared = t.blocks, t.shared
	return sums, [3]Expr{blocks, Number(tiles), Number(1)}, scratch, extended
}

// plainResult tells whether a result, and what is read to sum it, can be moved by
// eight channels, and pixels of the whole batch lie at equal distances.
func (b *builder) plainResult(width int, output ir.Ref) bool {
	return b.evenPixels(output) && b.resultVector(width, output) == 8 && (b.sums == nil || b.evenPixels(b.sums.maps()...))
}

// evenRows tells whether the pixels of an image lie at equal distances.
func (b *builder) evenRows(refs ...ir.Ref) bool {
	for _, r := range refs {
		if t := b.stage.Tensor(r); !t.Strides[2].Equal(t.Strides[3].Mul(t.Shape[3])) {
			return false
		}
	}
	return true
}

// evenPixels tells whether the pixels of maps, counted over the whole batch, lie
// at equal distances.
func (b *builder) evenPixels(refs ...ir.Ref) bool {
	for _, r := range refs {
		if t := b.stage.Tensor(r); !b.evenRows(r) || !t.Strides[0].Equal(t.Strides[2].Mul(t.Shape[2])) {
			return false
		}
	}
	return true
}
