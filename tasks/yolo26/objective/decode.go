package objective

import (
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/runtime/device"
)

// DecodeBox turns the raw (left, top, right, bottom) of an anchor, in stride
// units, into corners in pixels. Nothing is clamped: the box may be inverted
// (YOLO26 specification, objective section 0.3).
func DecodeBox[T device.Float](grid *Grid, anchor int, ltrb []T) geometry.Box {
	x, y, stride := grid.X[anchor], grid.Y[anchor], grid.Stride[anchor]
	return geometry.Box{
		X1: x - float64(ltrb[0])*stride,
		Y1: y - float64(ltrb[1])*stride,
		X2: x + float64(ltrb[2])*stride,
		Y2: y + float64(ltrb[3])*stride,
	}
}

// boxSlopes carries derivatives by the corners (x1, y1, x2, y2) to the raw
// (left, top, right, bottom) they were decoded from.
func boxSlopes(stride float64, corners [4]float64) [4]float64 {
	return [4]float64{-stride * corners[0], -stride * corners[1], stride * corners[2], stride * corners[3]}
}

// uprightBox gives the decoded corners an angle, before canonicalisation. The
// extents of an inverted box are negative.
func uprightBox(box geometry.Box, angle float64) geometry.RotatedBox {
	return geometry.RotatedBox{
		CenterX: (box.X1 + box.X2) / 2,
		CenterY: (box.Y1 + box.Y2) / 2,
		Width:   box.Width(),
		Height:  box.Height(),
		Angle:   angle,
	}
}

// DecodeRotated turns the raw (left, top, right, bottom) of an anchor, in
// stride units, and its raw angle in radians into a canonical rotated box
// (YOLO26 specification, objective section 0.3).
func DecodeRotated[T device.Float](grid *Grid, anchor int, ltrb []T, angle T) geometry.RotatedBox {
	return uprightBox(DecodeBox(grid, anchor, ltrb), float64(angle)).Canonical()
}

// rotatedSlopes carries derivatives by the canonical (cx, cy, w, h, theta) to
// the corners of the upright box and to the raw angle. Canonicalisation adds
// constants to the angle, so its derivative passes unchanged; where it swapped
// the extents, their derivatives swap back (objective section 5).
func rotatedSlopes(canonical [5]float64, swapped bool) (corners [4]float64, angle float64) {
	centerX, centerY, width, height := canonical[0], canonical[1], canonical[2], canonical[3]
	if swapped {
		width, height = height, width
	}
	return [4]float64{
		centerX/2 - width,
		centerY/2 - height,
		centerX/2 + width,
		centerY/2 + height,
	}, canonical[4]
}

// DecodePoint turns the raw offset (px, py) of a keypoint, in stride units,
// into pixels (YOLO26 specification, objective section 0.3).
func DecodePoint[T device.Float](grid *Grid, anchor int, px, py T) geometry.Point {
	stride := grid.Stride[anchor]
	return geometry.Point{
		X: grid.X[anchor] + float64(px)*stride,
		Y: grid.Y[anchor] + float64(py)*stride,
	}
}
