package geometry

import "math"

// lastAngle is the largest float64 below 3*pi/4, the open end of the canonical
// angle interval.
var lastAngle = math.Nextafter(3*math.Pi/4, 0)

// RotatedBox is a rectangle by its centre, its extents and the angle of its
// Width axis, measured from +x towards +y in radians. Lengths are in pixels.
type RotatedBox struct {
	CenterX, CenterY, Width, Height, Angle float64
}

// Canonical returns the same rectangle in long-edge form: Width >= Height and
// Angle in [-pi/4, 3*pi/4), or [-pi/4, pi/4) for a square. It is idempotent bit
// for bit. The convention is the long-edge one of MMRotate, data and evaluation
// specification, section 4.1.
func (r RotatedBox) Canonical() RotatedBox {
	if r.Width < r.Height {
		r.Width, r.Height = r.Height, r.Width
		r.Angle += math.Pi / 2
	}
	if r.Angle < -math.Pi/4 || r.Angle >= 3*math.Pi/4 {
		turns := math.Floor((r.Angle + math.Pi/4) / math.Pi)
		// The conversion forbids a fused multiply-add, which would make the
		// angle depend on the processor.
		r.Angle -= float64(turns * math.Pi)
		// Rounding can leave either end of the interval. The two ends are the
		// same direction, so one value serves both.
		if r.Angle < -math.Pi/4 || r.Angle >= 3*math.Pi/4 {
			r.Angle = lastAngle
		}
	}
	if r.Width == r.Height && r.Angle >= math.Pi/4 {
		r.Angle -= math.Pi / 2
	}
	return r
}

// Corners returns the four corners of the canonical box, clockwise on screen:
// c-W-H, c+W-H, c+W+H, c-W+H with W and H the half extents along the two axes
// (data and evaluation specification, section 4.1).
func (r RotatedBox) Corners() [4]Point {
	r = r.Canonical()
	sin, cos := math.Sincos(r.Angle)
	wx, wy := cos*r.Width/2, sin*r.Width/2
	hx, hy := -sin*r.Height/2, cos*r.Height/2
	return [4]Point{
		{r.CenterX - wx - hx, r.CenterY - wy - hy},
		{r.CenterX + wx - hx, r.CenterY + wy - hy},
		{r.CenterX + wx + hx, r.CenterY + wy + hy},
		{r.CenterX - wx + hx, r.CenterY - wy + hy},
	}
}

// Contains reports whether (x, y) lies in the closed rectangle (data and
// evaluation specification, section 4.3).
func (r RotatedBox) Contains(x, y float64) bool {
	sin, cos := math.Sincos(r.Angle)
	dx, dy := x-r.CenterX, y-r.CenterY
	return math.Abs(dx*cos+dy*sin) <= r.Width/2 && math.Abs(dy*cos-dx*sin) <= r.Height/2
}

// Envelope is the smallest axis-aligned box around the rectangle, in pixels.
func (r RotatedBox) Envelope() Box {
	corners := r.Corners()
	return Envelope(corners[:])
}

// FitQuadrilateral returns the canonical rotated box of four corners in order:
// centre at the mean vertex, extents the mean lengths of opposite edges, angle
// that of the mean of edges 0 and 2. It is exact for a rectangle; for any other
// quadrilateral the angle depends on which corner comes first (data and
// evaluation specification, section 4.2).
func FitQuadrilateral(corners [4]Point) RotatedBox {
	var edges [4]Point
	var fit RotatedBox
	for i, p := range corners {
		next := corners[(i+1)%4]
		edges[i] = Point{next.X - p.X, next.Y - p.Y}
		fit.CenterX += p.X / 4
		fit.CenterY += p.Y / 4
	}
	length := func(e Point) float64 { return math.Hypot(e.X, e.Y) }
	fit.Width = (length(edges[0]) + length(edges[2])) / 2
	fit.Height = (length(edges[1]) + length(edges[3])) / 2
	fit.Angle = math.Atan2((edges[0].Y-edges[2].Y)/2, (edges[0].X-edges[2].X)/2)
	return fit.Canonical()
}

// TightRectangle is the smallest rectangle around points whose sides have the
// given orientation (radians), in canonical form. It is the zero RotatedBox
// when there are no points.
func TightRectangle(points []Point, angle float64) RotatedBox {
	if len(points) == 0 {
		return RotatedBox{}
	}
	sin, cos := math.Sincos(angle)
	turned := make([]Point, len(points))
	for i, p := range points {
		turned[i] = Point{p.X*cos + p.Y*sin, p.Y*cos - p.X*sin}
	}
	extent := Envelope(turned)
	u, v := (extent.X1+extent.X2)/2, (extent.Y1+extent.Y2)/2
	return RotatedBox{
		CenterX: u*cos - v*sin,
		CenterY: u*sin + v*cos,
		Width:   extent.Width(),
		Height:  extent.Height(),
		Angle:   angle,
	}.Canonical()
}
