package scenes

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"

	"golang.org/x/image/vector"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// draw paints the object with its shadow.
func (p placement) draw(canvas *image.RGBA, random *rand.Rand) {
	shape := shapes[p.class]
	paint := shape.paints[random.IntN(len(shape.paints))]
	drop := math.Max(1, p.length*0.035)
	for _, part := range shape.parts {
		fill(canvas, p.points(part.points, drop), color.RGBA{A: 70})
	}
	for _, part := range shape.parts {
		fill(canvas, p.points(part.points, 0), shaded(paint, part.shade))
	}
}

// points maps points of the shape's frame to the picture, moved right and down
// by drop pixels.
func (p placement) points(points []geometry.Point, drop float64) []geometry.Point {
	sin, cos := math.Sincos(p.heading)
	mapped := make([]geometry.Point, len(points))
	for i, point := range points {
		x, y := point.X*p.length, point.Y*p.width
		mapped[i] = geometry.Point{
			X: p.centerX + x*cos - y*sin + drop,
			Y: p.centerY + x*sin + y*cos + drop,
		}
	}
	return mapped
}

// shaded is the paint darkened to black by a shade from 1 to 0 and lightened to
// white by one from 1 to 2.
func shaded(paint color.RGBA, shade float64) color.RGBA {
	scale := func(channel uint8) uint8 {
		if shade <= 1 {
			return uint8(float64(channel) * shade)
		}
		return uint8(float64(channel) + (255-float64(channel))*(shade-1))
	}
	return color.RGBA{R: scale(paint.R), G: scale(paint.G), B: scale(paint.B), A: paint.A}
}

// fill paints an antialiased polygon. Only its own part of the canvas is
// rasterised; what sticks out is cut.
func fill(canvas *image.RGBA, polygon []geometry.Point, paint color.RGBA) {
	envelope := geometry.Envelope(polygon)
	area := image.Rect(
		int(math.Floor(envelope.X1)), int(math.Floor(envelope.Y1)),
		int(math.Ceil(envelope.X2)), int(math.Ceil(envelope.Y2)),
	)
	if area.Empty() {
		return
	}
	rasterizer := vector.NewRasterizer(area.Dx(), area.Dy())
	local := func(p geometry.Point) (x, y float32) {
		return float32(p.X - float64(area.Min.X)), float32(p.Y - float64(area.Min.Y))
	}
	rasterizer.MoveTo(local(polygon[0]))
	for _, point := range polygon[1:] {
		rasterizer.LineTo(local(point))
	}
	rasterizer.ClosePath()
	coverage := image.NewAlpha(area)
	rasterizer.Draw(coverage, area, image.Opaque, image.Point{})
	draw.DrawMask(canvas, area.Intersect(canvas.Rect), image.NewUniform(paint), image.Point{},
		coverage, area.Intersect(canvas.Rect).Min, draw.Over)
}
