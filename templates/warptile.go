package templates

import "github.com/reprise-ml/reprise/gen/ir"

// warpTile is how a launch cuts its work whose warps make 16 * rows pixels x 32
// channels: tiles of bm pixels x bn channels, and a ring of stages.
type warpTile struct {
	bm, bn, rows, stages int
	threads, shared      int // of a block; shared memory in bytes
	blocks               int // that a multiprocessor holds
}

// What every device of compute capability 8.0 and more gives a block, in bytes of
// shared memory, and what a multiprocessor of a large one holds: shared memory,
// and threads at 128 registers each.
const (
	mostShared            = 99 << 10
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
		if t.shared <= mostShared && (t.blocks > 1 || t.stages == 2) {
			return true
		}
	}
	return false
}

// tileBytes is the size of a tile in 16 bits in shared memory, whose rows are
// padded.
func tileBytes(rows, length int) int { return rows * (length + 8) * 2 }

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
		weight := tileBytes(bn, slices*slice)
		if gradient {
			weight = tileBytes(slices*slice, bn)
		}
		return weight, tileBytes(bm, slice)
	})
	if err != nil || !fits {
		return false, err
	}
	sums, grid, scratch, arguments := b.warpTileGrid(t, width, output, arguments)
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
		weight := tileBytes(bn, slice)
		if gradient {
			weight = tileBytes(slice, bn)
		}
		return 0, tileBytes(bm, slice) + weight
	})
	if err != nil || !fits {
		return false, err
	}
	sums, grid, scratch, arguments := b.warpTileGrid(t, width, output, arguments)
	b.add("taps", "convolution_taps", "convolution", t.threads, grid, scratch, arguments,
		"element", "tf32", "index_t", c.shape(t.bm, t.bn), t.rows, t.stages, t.shared, gradient, bias, accumulate, "element", sums)
	return true, nil
}

// warpTileGrid gives the launch of tiles: no more blocks than run at once, the sums
// that they take, and their memory.
func (b *builder) warpTileGrid(t warpTile, width int, output ir.Ref, arguments []field) (sums string, grid [3]Expr, scratch Expr, all []field) {
	tiles := (width + t.bn - 1) / t.bn
	blocks := Smaller(Ceiling(b.pixels(output), Number(t.bm)), Number(max(1, min(mostRows, multiprocessors*t.blocks/tiles))))
	sums, all = "no_sums", arguments
	if b.sums != nil {
		b.rows = blocks
		var fields []field
		sums, fields, scratch = b.sums.launch(b, width)
		all = append(all, fields...)
	}
	b.blocks, b.shared = t.blocks, t.shared
	return sums, [3]Expr{blocks, Number(tiles), Number(1)}, scratch, all
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
