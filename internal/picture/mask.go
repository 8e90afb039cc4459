package picture

import (
	"image"
	"image/color"
	"image/draw"
)

// drawMask tints the pixels of a mask in the class's colour.
func drawMask(canvas *image.RGBA, annotation Annotation) {
	if annotation.Mask == nil {
		return
	}
	paint := classColor(annotation.Class)
	tint := image.NewUniform(color.NRGBA{R: paint.R, G: paint.G, B: paint.B, A: 110})
	area := annotation.Mask.Rect.Intersect(canvas.Rect)
	draw.DrawMask(canvas, area, tint, image.Point{}, annotation.Mask, area.Min, draw.Over)
}
