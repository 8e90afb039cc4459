package geometry

import "math"

// Point is a position in pixels.
type Point struct {
	X, Y float64
}

// Box is an axis-aligned box by its corners in pixels: (X1, Y1) is the top left
// and (X2, Y2) the bottom right.
type Box struct {
	X1, Y1, X2, Y2 float64
}

// Width is X2 - X1, in pixels.
func (b Box) Width() float64 { return b.X2 - b.X1 }

// Height is Y2 - Y1, in pixels.
func (b Box) Height() float64 { return b.Y2 - b.Y1 }

// Area is the area in square pixels, 0 for a box whose sides are not both positive.
func (b Box) Area() float64 {
	if b.X2 <= b.X1 || b.Y2 <= b.Y1 {
		return 0
	}
	return b.Width() * b.Height()
}

// Clamp moves every coordinate into [0,width] x [0,height].
func (b Box) Clamp(width, height float64) Box {
	return Box{
		X1: clamp(b.X1, 0, width),
		Y1: clamp(b.Y1, 0, height),
		X2: clamp(b.X2, 0, width),
		Y2: clamp(b.Y2, 0, height),
	}
}

// Envelope is the smallest axis-aligned box around points. It is the zero Box
// when there are none.
func Envelope(points []Point) Box {
	if len(points) == 0 {
		return Box{}
	}
	box := Box{X1: math.Inf(1), Y1: math.Inf(1), X2: math.Inf(-1), Y2: math.Inf(-1)}
	for _, p := range points {
		box.X1, box.X2 = math.Min(box.X1, p.X), math.Max(box.X2, p.X)
		box.Y1, box.Y2 = math.Min(box.Y1, p.Y), math.Max(box.Y2, p.Y)
	}
	return box
}

func clamp(value, low, high float64) float64 {
	return math.Min(math.Max(value, low), high)
}
