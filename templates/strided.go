package templates

import (
	"github.com/reprise-ml/reprise/gen/ir"
)

const (
	// dynamicBytes is how much dynamic shared memory a block may ask for: what
	// every device of compute capability 8.0 or more gives. dynamicOfThree is how
	// much lets three blocks run on a multiprocessor of the largest.
	dynamicBytes   = 99 << 10
	dynamicOfThree = 74 << 10
)

// strided: input gradients of 3x3 layers of stride 2, whose parity classes come
// from one tile of dY.
func (c *convolution) strided(gradient bool) bool {
	return gradient && c.kernel == 3 && c.stride == 2 && c.groups == 1 && c.outputs%16 == 0
}

// stridedTile holds the constants of a launch of convolution_strided_gradient.
type stridedTile struct {
	bm, bn int
	stages int
	shared int // bytes
}

// bytes16 is the size of a tile of 16-bit elements; see struct tile.
func bytes16(rows, length int) int { return rows * (length + 8) * 2 }

// stridedTile gives the constants for a tile of bm pixels of dY and bn channels of
// dX, and whether it fits into shared memory. All weights stay there if they can.
func (c *convolution) stridedTile(bm, bn int) (stridedTile, bool) {
	slice := 16
	for slice < 64 && c.outputs%(2*slice) == 0 {
		slice *= 2
	}
	source, stage := bytes16((8+1)*(bm/8+1), c.outputs), bytes16(slice, bn)
	r := stridedTile{bm: bm, bn: bn}
	for _, limit := range []int{dynamicOfThree, dynamicBytes} {
		for _, stages := range []int{9 * c.outputs / slice, 4, 3} {
			if r.stages, r.shared = stages, source+stages*stage; r.shared <= limit {
				return r, true
			}
		}
	}
	return r, false
}

// stridedTile picks a tile, as tileOf does. Tiles count once for all parity classes,
// and half as many channels of twice as many pixels read less of the weights.
func (b *builder) stridedTile(c *convolution, pixels Expr) (stridedTile, bool, error) {
	n, err := pixels.Eval(b.nominal)
	if err != nil {
		return stridedTile{}, false, err
	}
	widest := columns(c.inputs)
	for _, t := range []struct{ bm, bn, blocks int }{{128, 32, 132}, {64, 64, 66}, {64, 32, 0}} {
		bn := min(t.bn, widest)
		r, fits := c.stridedTile(t.bm, bn)
		tiles := (c.inputs + bn - 1) / bn
		if fits && (n+int64(t.bm)-1)/int64(t.bm)*int64(tiles) >= int64(t.blocks) {
			return r, true, nil
		}
	}
	return stridedTile{}, false, nil
}

// convolveStrided launches the kernel of an input gradient of stride 2, if a tile
// fits into shared memory.
//
//	kernel                        grid                                   block  dynamic
//	convolution_strided_gradient  tiles(dY) of BM pixels, channels/BN    128    tile of dY, weights or a ring of them
func (b *builder) convolveStrided(c *convolution, accumulate bool, input, output ir.Ref, arguments []field) (done bool, err error) {
	s := b.stage.Tensor(input).Shape
	r, fits, err := b.stridedTile(c, b.pixels(input))
	if err != nil || !fits {
		return false, err
	}
	// What the results meet in memory takes registers.
	b.blocks, b.shared = 4, r.shared
	if r.bn > 16 {
		b.blocks = 3
	}
	// As many blocks as run at once at most, each with as many tiles.
	sets := (c.inputs + r.bn - 1) / r.bn
	tiles := Times(Size(s[0]), Ceiling(Size(s[2]), Number(8)), Ceiling(Size(s[3]), Number(r.bm/8)))
	blocks := Ceiling(tiles, Ceiling(tiles, Number(max(1, min(mostRows, multiprocessors*b.blocks/sets)))))
	sums, scratch := "no_sums", Expr{}
	if b.sums != nil {
		b.rows = blocks
		var fields []field
		sums, fields, scratch = b.sums.launch(b, c.inputs)
		arguments = append(arguments, fields...)
	}
	types, err := b.types(output)
	if err != nil {
		return false, err
	}
	grid := [3]Expr{blocks, Number(sets), Number(1)}
	b.add("strided_gradient", "convolution_strided_gradient", "convolution", tileThreads, grid, scratch, arguments,
		"element", "tf32", "index_t", c.shape(r.bm, r.bn), r.stages, r.shared, accumulate, types[0], sums)
	return true, nil
}
