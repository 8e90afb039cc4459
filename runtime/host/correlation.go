package host

import (
	"gonum.org/v1/gonum/blas"

	"github.com/reprise-ml/reprise/runtime/device"
)

// correlation is the sum over taps that both a convolution and its input
// gradient consist of: for every pixel (i, j) and channel o of the result,
//
//	result[o, i, j] = bias[o] + sum over taps t and channels c of
//	                  weights[o, t, c] * source[c, i*stride + t.row, j*stride + t.column]
//
// with zeros outside the source. A task is a piece of one row of the result in
// one group of channels: its patches become rows of (tap, channel), and one
// matrix product with the transposed weights gives all channels.
type correlation[T device.Float] struct {
	source, result view[T] // (N, C, H, W)
	taps           []tap
	stride         int
	groups         int
	weights        []T // (groups, result channels, taps, source channels) of a group
	bias           []T // by result channel; nil for none
	accumulate     bool

	patches []T // by worker: patch rows of a piece
	tile    []T // by worker: a piece of the result
}

// tap is a position of the kernel relative to the source pixel.
type tap struct{ row, column int }

// piecePixels is the number of result pixels of one task.
const piecePixels = gemmBlock

func (c *correlation[T]) sourceChannels() int { return c.source.shape[1] / c.groups }
func (c *correlation[T]) resultChannels() int { return c.result.shape[1] / c.groups }

// patchLength is the number of products behind one result.
func (c *correlation[T]) patchLength() int { return len(c.taps) * c.sourceChannels() }

// prepare takes scratch and returns the phase that computes the result.
func (c *correlation[T]) prepare(w *workspace[T]) phase {
	rows := c.result.shape[0] * c.result.shape[2]
	pieces := (c.result.shape[3] + piecePixels - 1) / piecePixels
	if c.depthwise() {
		c.patches = w.floats.take(w.workers * 2 * c.groups)
		return phase{tasks: rows * pieces, run: func(task, worker int) { c.depthwisePiece(c.piece(task, pieces, 1), worker) }}
	}
	c.tile = w.floats.take(w.workers * piecePixels * c.resultChannels())
	c.patches = w.floats.take(w.workers * piecePixels * c.patchLength())
	return phase{tasks: rows * pieces * c.groups, run: func(task, worker int) { c.densePiece(c.piece(task, pieces, c.groups), worker) }}
}

// piece is a run of pixels of one result row in one group.
type piece struct{ image, row, column, pixels, group int }

func (c *correlation[T]) piece(task, pieces, groups int) piece {
	p := piece{group: task % groups}
	task /= groups
	p.column = task % pieces * piecePixels
	p.pixels = min(piecePixels, c.result.shape[3]-p.column)
	task /= pieces
	p.row, p.image = task%c.result.shape[2], task/c.result.shape[2]
	return p
}

// densePiece computes one task by a matrix product.
func (c *correlation[T]) densePiece(p piece, worker int) {
	k, n := c.patchLength(), c.resultChannels()
	a, lda := c.patchRows(p, worker)
	strides := c.result.strides
	first := p.group * n
	out := c.result.data[p.image*strides[0]+first*strides[1]+p.row*strides[2]+p.column*strides[3]:]
	tile, ldc, direct := out, 0, false
	if n == 1 || strides[1] == 1 {
		ldc, direct = leading(strides[3], p.pixels, n)
	}
	if !direct {
		tile, ldc = c.tile[worker*piecePixels*n:], n
	}
	beta := T(1)
	switch {
	case c.accumulate && !direct:
		c.move(tile, out, p.pixels, false)
	case c.accumulate:
	case c.bias != nil:
		for i := range p.pixels {
			copy(tile[i*ldc:], c.bias[first:first+n])
		}
	default:
		beta = 0
	}
	weights := c.weights[first*k:]
	for o := 0; o < n; o += gemmBlock {
		gemm(blas.NoTrans, blas.Trans, p.pixels, min(gemmBlock, n-o), k, 1, a, lda, weights[o*k:], k, beta, tile[o:], ldc)
	}
	if !direct {
		c.move(tile, out, p.pixels, true)
	}
}

// move copies a piece between a tile and the result.
func (c *correlation[T]) move(tile, out []T, pixels int, store bool) {
	n := c.resultChannels()
	for i := range pixels {
		for o := range n {
			at := i*c.result.strides[3] + o*c.result.strides[1]
			if store {
				out[at] = tile[i*n+o]
			} else {
				tile[i*n+o] = out[at]
			}
		}
	}
}

// patchRows gives the patches of a piece as rows of (tap, channel): the source
// itself for a single tap inside it, else copies.
func (c *correlation[T]) patchRows(p piece, worker int) (rows []T, ld int) {
	n, k := c.sourceChannels(), c.patchLength()
	strides := c.source.strides
	base := p.image*strides[0] + p.group*n*strides[1]
	if len(c.taps) == 1 && (n == 1 || strides[1] == 1) && c.inside(p) {
		if ld, ok := leading(c.stride*strides[3], p.pixels, n); ok {
			t := c.taps[0]
			return c.source.data[base+(p.row*c.stride+t.row)*strides[2]+(p.column*c.stride+t.column)*strides[3]:], ld
		}
	}
	rows = c.patches[worker*piecePixels*k:][:p.pixels*k]
	for t, tap := range c.taps {
		i := p.row*c.stride + tap.row
		if i < 0 || i >= c.source.shape[2] {
			for q := range p.pixels {
				clear(rows[q*k+t*n:][:n])
			}
			continue
		}
		for q := range p.pixels {
			j := (p.column+q)*c.stride + tap.column
			patch := rows[q*k+t*n:][:n]
			if j < 0 || j >= c.source.shape[3] {
				clear(patch)
				continue
			}
			from := base + i*strides[2] + j*strides[3]
			if strides[1] == 1 {
				copy(patch, c.source.data[from:from+n])
				continue
			}
			for o := range patch {
				patch[o] = c.source.data[from+o*strides[1]]
			}
		}
	}
	return rows, k
}

// inside tells whether the only tap of a piece stays inside the source.
func (c *correlation[T]) inside(p piece) bool {
	i, j := p.row*c.stride+c.taps[0].row, p.column*c.stride+c.taps[0].column
	last := j + (p.pixels-1)*c.stride
	return i >= 0 && i < c.source.shape[2] && j >= 0 && last < c.source.shape[3]
}
