package picture

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// How much of the class's colour lies on the inside of an outline and on a mask.
const (
	faint = 20
	tint  = 110
)

// drawSurface tints the inside of the outline faintly, and the mask.
func drawSurface(canvas *image.RGBA, annotation Annotation) {
	paint := classColor(annotation.Class)
	fillPaths(canvas, [][]geometry.Point{annotation.Outline}, color.NRGBA{R: paint.R, G: paint.G, B: paint.B, A: faint})
	paintMask := color.NRGBA{R: paint.R, G: paint.G, B: paint.B, A: tint}
	if annotation.Mask != nil {
		area := annotation.Mask.Rect.Intersect(canvas.Rect)
		draw.DrawMask(canvas, area, image.NewUniform(paintMask), image.Point{}, annotation.Mask, area.Min, draw.Over)
	}
	if hasRing(annotation) {
		fillPaths(canvas, [][]geometry.Point{annotation.Ring}, paintMask)
	}
}

func hasRing(annotation Annotation) bool { return len(annotation.Ring) >= 3 }

// drawRing strokes the border of a mask that is given by its ring.
func drawRing(canvas *image.RGBA, annotation Annotation, style style) {
	if hasRing(annotation) {
		fillPaths(canvas, strokePaths(annotation.Ring, math.Max(1, 0.6*style.line)), classColor(annotation.Class))
	}
}
