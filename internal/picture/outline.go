package picture

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/vector"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// drawOutline strokes the outline in the class's colour, over a dark casing that
// keeps it visible on a ground of the same colour.
func drawOutline(canvas *image.RGBA, annotation Annotation, style style) {
	paint := classColor(annotation.Class)
	casing := color.NRGBA{A: 150}
	fillPaths(canvas, strokePaths(annotation.Outline, style.line+1.6), casing)
	fillPaths(canvas, strokePaths(annotation.Outline, style.line), paint)
}

// strokePaths covers the edges of a closed polygon by one quadrilateral per edge
// and one disc per corner. All turn the same way, so that overlaps add up and
// never cancel.
func strokePaths(polygon []geometry.Point, width float64) [][]geometry.Point {
	var paths [][]geometry.Point
	half := width / 2
	for i, from := range polygon {
		to := polygon[(i+1)%len(polygon)]
		paths = append(paths, disc(from, half))
		length := math.Hypot(to.X-from.X, to.Y-from.Y)
		if length == 0 {
			continue
		}
		nx, ny := -(to.Y-from.Y)/length*half, (to.X-from.X)/length*half
		paths = append(paths, []geometry.Point{
			{X: from.X - nx, Y: from.Y - ny}, {X: to.X - nx, Y: to.Y - ny},
			{X: to.X + nx, Y: to.Y + ny}, {X: from.X + nx, Y: from.Y + ny},
		})
	}
	return paths
}

func disc(center geometry.Point, radius float64) []geometry.Point {
	const sides = 12
	points := make([]geometry.Point, sides)
	for i := range points {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / sides)
		points[i] = geometry.Point{X: center.X + radius*cos, Y: center.Y + radius*sin}
	}
	return points
}

// fillPaths paints the union of antialiased polygons that turn the same way.
// Only their part of the canvas is rasterised.
func fillPaths(canvas *image.RGBA, paths [][]geometry.Point, paint color.Color) {
	var all []geometry.Point
	for _, path := range paths {
		all = append(all, path...)
	}
	// A box may lie far outside; the rasteriser's own area stays on the canvas.
	window := geometry.Envelope(all)
	window = window.Clamp(float64(canvas.Rect.Dx()), float64(canvas.Rect.Dy()))
	area := image.Rect(int(window.X1), int(window.Y1), int(math.Ceil(window.X2)), int(math.Ceil(window.Y2)))
	if area.Empty() {
		return
	}
	rasterizer := vector.NewRasterizer(area.Dx(), area.Dy())
	for _, path := range paths {
		for i, p := range path {
			x, y := float32(p.X-float64(area.Min.X)), float32(p.Y-float64(area.Min.Y))
			if i == 0 {
				rasterizer.MoveTo(x, y)
			} else {
				rasterizer.LineTo(x, y)
			}
		}
		rasterizer.ClosePath()
	}
	coverage := image.NewAlpha(area)
	rasterizer.Draw(coverage, area, image.Opaque, image.Point{})
	draw.DrawMask(canvas, area, image.NewUniform(paint), image.Point{}, coverage, area.Min, draw.Over)
}
