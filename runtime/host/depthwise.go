package host

import "github.com/reprise-ml/reprise/runtime/device"

// depthwise tells whether every channel is a group of its own.
func (c *correlation[T]) depthwise() bool {
	return c.groups > 1 && c.groups == c.source.shape[1] && c.groups == c.result.shape[1]
}

// depthwisePiece computes all channels of one piece of a depthwise
// correlation. Weights are packed (tap, channel).
func (c *correlation[T]) depthwisePiece(p piece, worker int) {
	n := c.groups
	strides := c.result.strides
	spare := c.patches[worker*2*n:][:2*n]
	for q := range p.pixels {
		at := p.image*strides[0] + p.row*strides[2] + (p.column+q)*strides[3]
		out := gather(c.result.data, at, strides[1], spare[:n], false)
		switch {
		case c.accumulate:
		case c.bias != nil:
			copy(out, c.bias)
		default:
			clear(out)
		}
		for t, tap := range c.taps {
			i, j := p.row*c.stride+tap.row, (p.column+q)*c.stride+tap.column
			if i < 0 || j < 0 || i >= c.source.shape[2] || j >= c.source.shape[3] {
				continue
			}
			from := p.image*c.source.strides[0] + i*c.source.strides[2] + j*c.source.strides[3]
			multiplyAdd(out, c.weights[t*n:], gather(c.source.data, from, c.source.strides[1], spare[n:], false))
		}
		scatter(c.result.data, at, strides[1], out, false)
	}
}

// multiplyAdd is out += a * b, element by element.
func multiplyAdd[E device.Float](out, a, b []E) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] += a[i] * b[i]
	}
}
