package mask

import (
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Rasterise fills a ring, in pixels of a canvas of width x height, by the
// even-odd rule tested at integer coordinates: left and top edges are in, right
// and bottom edges out (data and evaluation specification, section 7). Parts
// outside the canvas are dropped.
func Rasterise(ring []geometry.Point, width, height int) *Bitmap {
	bitmap := New(width, height)
	// flips[n] tells that an odd number of edges has exactly the columns 0..n-1
	// on its left.
	flips := make([]bool, width+1)
	for row := range height {
		if !crossings(flips, ring, float64(row)) {
			continue
		}
		inside := false
		for column := width - 1; column >= 0; column-- {
			inside = inside != flips[column+1]
			if inside {
				bitmap.Set(row, column)
			}
		}
		clear(flips)
	}
	return bitmap
}

// RasteriseCentres fills a ring by the even-odd rule tested at the centres of the
// pixels, as evaluators of COCO read outlines: pixel (row, column) is in when the
// point (column + 0.5, row + 0.5) is.
func RasteriseCentres(ring []geometry.Point, width, height int) *Bitmap {
	shifted := make([]geometry.Point, len(ring))
	for i, p := range ring {
		shifted[i] = geometry.Point{X: p.X - 0.5, Y: p.Y - 0.5}
	}
	return Rasterise(shifted, width, height)
}

// crossings marks where the edges of the ring cross the line y and reports
// whether any does.
func crossings(flips []bool, ring []geometry.Point, y float64) bool {
	crossed := false
	for i, current := range ring {
		previous := ring[(i+len(ring)-1)%len(ring)]
		if (current.Y > y) == (previous.Y > y) {
			continue
		}
		// The conversion forbids a fused multiply-add, which would make the
		// pixels depend on the processor.
		x := float64((previous.X-current.X)*(y-current.Y)/(previous.Y-current.Y)) + current.X
		// Column c is left of the edge when c < x: there are ceil(x) such.
		// None is left of what is no number.
		left := 0
		if x > 0 {
			left = int(math.Min(math.Ceil(x), float64(len(flips)-1)))
		}
		flips[left] = !flips[left]
		crossed = true
	}
	return crossed
}
