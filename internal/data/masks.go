package data

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// MaskStride is how many pixels of the input one cell of the prototype grid
// covers along each axis.
const MaskStride = 4

// InstanceMasks rasterises the ring of every instance on a grid of gridWidth x
// gridHeight cells over a canvas of width x height pixels: the ring is scaled and
// then rasterised, never the other way round (data and evaluation specification,
// section 7). Every instance needs a ring; there are no masks without instances.
func InstanceMasks(t Target, width, height, gridWidth, gridHeight int) ([]*mask.Bitmap, error) {
	if len(t.Polygons) != t.Len() {
		return nil, fmt.Errorf("%d instances with %d rings; masks need a data set of polygons", t.Len(), len(t.Polygons))
	}
	masks := make([]*mask.Bitmap, t.Len())
	for i, ring := range t.Polygons {
		scaled := make([]geometry.Point, len(ring))
		for n, p := range ring {
			scaled[n] = geometry.Point{X: p.X * float64(gridWidth) / float64(width), Y: p.Y * float64(gridHeight) / float64(height)}
		}
		masks[i] = mask.Rasterise(scaled, gridWidth, gridHeight)
	}
	return masks, nil
}

// SemanticMap is the target of the auxiliary semantic head: per class the union
// of its instances' masks, adaptively max-pooled to height x width cells. It has
// the shape (classes, height, width) and holds 0 and 1; without instances it is
// all 0. Labels are below classes.
func SemanticMap(masks []*mask.Bitmap, labels []int, classes, height, width int) []uint8 {
	cells := make([]uint8, classes*height*width)
	for i, instance := range masks {
		plane := cells[labels[i]*height*width:][:height*width]
		for y := range height {
			for x := range width {
				if plane[y*width+x] == 0 && anyIn(instance, y, height, x, width) {
					plane[y*width+x] = 1
				}
			}
		}
	}
	return cells
}

// anyIn reports whether a mask has a pixel in the window of cell (y, x): along an
// axis of n pixels and c cells, from floor(i*n/c) up to ceil((i+1)*n/c).
func anyIn(m *mask.Bitmap, y, height, x, width int) bool {
	endRow, endColumn := ((y+1)*m.Height+height-1)/height, ((x+1)*m.Width+width-1)/width
	for row := y * m.Height / height; row < endRow; row++ {
		for column := x * m.Width / width; column < endColumn; column++ {
			if m.At(row, column) {
				return true
			}
		}
	}
	return false
}
