package geometry

import "math"

// RotatedIoU is the exact intersection over union of two rotated boxes, in
// [0,1]. It is 0 when a field of either is not finite or an extent is not
// positive (data and evaluation specification, section 4.4).
func RotatedIoU(a, b RotatedBox) float64 {
	if !measurable(a) || !measurable(b) {
		return 0
	}
	intersection := RotatedIntersection(a, b)
	union := a.Width*a.Height + b.Width*b.Height - intersection
	return clamp(intersection/union, 0, 1)
}

// RotatedIntersection is the area common to two rotated boxes in square pixels.
// Both must have finite fields and positive extents.
func RotatedIntersection(a, b RotatedBox) float64 {
	// Corners are expanded about the midpoint of the pair, because the shoelace
	// sum of coordinates far from the origin loses the digits that matter.
	middleX, middleY := (a.CenterX+b.CenterX)/2, (a.CenterY+b.CenterY)/2
	a.CenterX, a.CenterY = a.CenterX-middleX, a.CenterY-middleY
	b.CenterX, b.CenterY = b.CenterX-middleX, b.CenterY-middleY
	subject, window := a.Corners(), b.Corners()

	// Each of the four cuts adds at most one vertex to a convex polygon.
	var buffers [2][8]Point
	polygon := subject[:]
	for i, corner := range window {
		next := window[(i+1)%4]
		edge := halfPlane{corner, Point{next.X - corner.X, next.Y - corner.Y}}
		polygon = edge.clip(buffers[i%2][:0], polygon)
	}
	return math.Max(0, PolygonArea(polygon))
}

func measurable(r RotatedBox) bool {
	for _, field := range [5]float64{r.CenterX, r.CenterY, r.Width, r.Height, r.Angle} {
		if math.IsNaN(field) || math.IsInf(field, 0) {
			return false
		}
	}
	return r.Width > 0 && r.Height > 0
}
