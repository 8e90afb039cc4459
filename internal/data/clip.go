package data

import (
	"slices"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// The keep rule of mosaic and affine (data and evaluation specification, section
// 6.4): what is left of an instance must be at least that large and that much of
// it.
const (
	leastSide     = 2.0
	leastFraction = 0.1
)

// keeps reports whether an instance stays after its extent was clipped.
func keeps(before, after geometry.Box) bool {
	if before.Area() == 0 {
		return false
	}
	return after.Width() >= leastSide && after.Height() >= leastSide && after.Area()/before.Area() >= leastFraction
}

// mapped is the target with every point sent through a map that keeps straight
// lines. Boxes become the extents of their corners, or of their rings where they
// have them and fromRings is set; rotated boxes are fitted to their corners again.
func (t Target) mapped(point func(geometry.Point) geometry.Point, fromRings bool) Target {
	out := t.Clone()
	for _, points := range slices.Concat(out.Polygons, out.Keypoints) {
		for i, p := range points {
			points[i] = point(p)
		}
	}
	for i, box := range out.Boxes {
		corners := []geometry.Point{
			point(geometry.Point{X: box.X1, Y: box.Y1}), point(geometry.Point{X: box.X2, Y: box.Y1}),
			point(geometry.Point{X: box.X2, Y: box.Y2}), point(geometry.Point{X: box.X1, Y: box.Y2}),
		}
		if fromRings && len(out.Polygons) > 0 {
			corners = out.Polygons[i]
		}
		out.Boxes[i] = geometry.Envelope(corners)
	}
	for i, rotated := range out.Rotated {
		corners := rotated.Corners()
		for n, p := range corners {
			corners[n] = point(p)
		}
		out.Rotated[i] = geometry.FitQuadrilateral(corners)
		out.Boxes[i] = geometry.Envelope(corners[:])
	}
	return out
}

// clipped cuts a target to a canvas and drops what the keep rule does not keep:
// boxes and rings are clamped, rotated boxes that stick out are cut and fitted
// again in their own orientation, keypoints stay where they are. The target's
// lists may be changed.
func (t Target) clipped(width, height int, fromRings bool) (Target, error) {
	w, h := float64(width), float64(height)
	keep := make([]bool, t.Len())
	for _, ring := range t.Polygons {
		for i, p := range ring {
			ring[i] = geometry.Point{X: min(max(p.X, 0), w), Y: min(max(p.Y, 0), h)}
		}
	}
	for i, before := range t.Boxes {
		after := before.Clamp(w, h)
		if fromRings && len(t.Polygons) > 0 {
			after = geometry.Envelope(t.Polygons[i])
		}
		if len(t.Rotated) > 0 {
			t.Rotated[i], after = clipRotated(t.Rotated[i], before, geometry.Box{X2: w, Y2: h})
		}
		t.Boxes[i], keep[i] = after, keeps(before, after)
	}
	if len(t.Rotated) == 0 {
		return t.Filter(keep, nil)
	}
	return t.Filter(keep, keep)
}

// clipRotated cuts a rotated box to a canvas; one that is fully inside stays as
// it is, and one of which nothing is left becomes zero.
func clipRotated(rotated geometry.RotatedBox, extent, canvas geometry.Box) (geometry.RotatedBox, geometry.Box) {
	if extent.X1 >= canvas.X1 && extent.Y1 >= canvas.Y1 && extent.X2 <= canvas.X2 && extent.Y2 <= canvas.Y2 {
		return rotated, extent
	}
	corners := rotated.Corners()
	region := geometry.ClipToBox(corners[:], canvas)
	return geometry.TightRectangle(region, rotated.Angle), geometry.Envelope(region)
}
