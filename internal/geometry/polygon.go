package geometry

// halfPlane is the side of a directed line where the cross product of its
// direction with the vector from its origin is not negative.
type halfPlane struct {
	origin, direction Point
}

func (h halfPlane) side(p Point) float64 {
	return h.direction.X*(p.Y-h.origin.Y) - h.direction.Y*(p.X-h.origin.X)
}

// clip appends to dst the part of a convex polygon inside the half plane, points
// on the line included.
func (h halfPlane) clip(dst, polygon []Point) []Point {
	if len(polygon) == 0 {
		return dst
	}
	previous := polygon[len(polygon)-1]
	before := h.side(previous)
	for _, current := range polygon {
		after := h.side(current)
		if (before >= 0) != (after >= 0) {
			t := before / (before - after)
			dst = append(dst, Point{
				X: previous.X + t*(current.X-previous.X),
				Y: previous.Y + t*(current.Y-previous.Y),
			})
		}
		if after >= 0 {
			dst = append(dst, current)
		}
		previous, before = current, after
	}
	return dst
}

// ClipToBox returns the part of a convex polygon inside window, borders
// included, by half-plane clipping in the order left, right, top, bottom (data
// and evaluation specification, section 3). It is empty when nothing is inside.
func ClipToBox(polygon []Point, window Box) []Point {
	planes := [4]halfPlane{
		{Point{window.X1, window.Y1}, Point{0, -1}},
		{Point{window.X2, window.Y1}, Point{0, 1}},
		{Point{window.X1, window.Y1}, Point{1, 0}},
		{Point{window.X1, window.Y2}, Point{-1, 0}},
	}
	clipped := polygon
	for _, plane := range planes {
		clipped = plane.clip(make([]Point, 0, len(clipped)+1), clipped)
	}
	// An intersection is computed, not copied, so it may miss the border by a
	// rounding error that later closed tests would see.
	for i, p := range clipped {
		clipped[i] = Point{clamp(p.X, window.X1, window.X2), clamp(p.Y, window.Y1, window.Y2)}
	}
	return clipped
}

// PolygonArea is the signed shoelace area in square pixels, positive for
// corners in clockwise order on screen.
func PolygonArea(polygon []Point) float64 {
	if len(polygon) < 3 {
		return 0
	}
	twice := 0.0
	previous := polygon[len(polygon)-1]
	for _, current := range polygon {
		twice += previous.X*current.Y - current.X*previous.Y
		previous = current
	}
	return twice / 2
}
