package picture

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// textSize is the size in pixels of the tag around a text.
func textSize(face font.Face, text string, style style) image.Point {
	metrics := face.Metrics()
	return image.Point{
		X: font.MeasureString(face, text).Ceil() + 2*style.padding,
		Y: (metrics.Ascent + metrics.Descent).Ceil() + style.padding,
	}
}

// occupied is what a tag must not cover: the tags already placed and the cores of
// all outlines, without which a crowd of small objects vanishes under texts.
type occupied struct {
	tags, cores []image.Rectangle
}

func (o *occupied) free(place image.Rectangle) bool {
	return !slices.ContainsFunc(o.tags, place.Overlaps) && !slices.ContainsFunc(o.cores, place.Overlaps)
}

// core is the middle of an outline's envelope, half as long each way, but no more
// than about a line of text: what must stay visible of a large object is little.
func core(outline []geometry.Point, style style) image.Rectangle {
	box := geometry.Envelope(outline)
	x, y := int((box.X1+box.X2)/2), int((box.Y1+box.Y2)/2)
	halfWidth := int(math.Min((box.X2-box.X1)/4, style.textHeight))
	halfHeight := int(math.Min((box.Y2-box.Y1)/4, style.textHeight))
	return image.Rect(x-halfWidth, y-halfHeight, x+halfWidth+1, y+halfHeight+1)
}

// freePlace finds where a tag of that size goes: on the topmost corner of the
// outline, on the lowest, or on the others, above a corner or below it, inside
// the canvas and where nothing is covered.
func freePlace(canvas image.Rectangle, outline []geometry.Point, size image.Point, others *occupied) (image.Rectangle, bool) {
	for _, corner := range byHeight(outline) {
		x, y := int(corner.X), int(corner.Y)
		for _, top := range [2]int{y - size.Y, y} {
			place := into(canvas, image.Rect(x, top, x+size.X, top+size.Y))
			if others.free(place) {
				return place, true
			}
		}
	}
	return image.Rectangle{}, false
}

// byHeight gives the topmost corner, the lowest, then the leftmost and the
// rightmost: four places however many corners an outline has.
func byHeight(outline []geometry.Point) [4]geometry.Point {
	corners := [4]geometry.Point{outline[0], outline[0], outline[0], outline[0]}
	for _, p := range outline[1:] {
		for i, better := range [4]bool{p.Y < corners[0].Y, p.Y > corners[1].Y, p.X < corners[2].X, p.X > corners[3].X} {
			if better {
				corners[i] = p
			}
		}
	}
	return corners
}

// into moves a rectangle the shortest way inside the canvas; one that is larger
// keeps its top left corner in.
func into(canvas, r image.Rectangle) image.Rectangle {
	shift := image.Point{
		X: max(min(0, canvas.Max.X-r.Max.X), canvas.Min.X-r.Min.X),
		Y: max(min(0, canvas.Max.Y-r.Max.Y), canvas.Min.Y-r.Min.Y),
	}
	return r.Add(shift)
}

// drawTag draws the text on a plate of the class's colour.
func drawTag(canvas *image.RGBA, place image.Rectangle, annotation Annotation, face font.Face, style style) {
	plate := classColor(annotation.Class)
	draw.Draw(canvas, place.Inset(-1), image.NewUniform(color.NRGBA{A: 120}), image.Point{}, draw.Over)
	draw.Draw(canvas, place, image.NewUniform(plate), image.Point{}, draw.Src)
	drawText(canvas, place.Min.Add(image.Point{X: style.padding, Y: style.padding / 2}), annotation.Text, face, inkOn(plate))
}

// drawText draws a line of text whose top left corner is at a point.
func drawText(canvas draw.Image, at image.Point, text string, face font.Face, ink color.Color) {
	drawer := font.Drawer{
		Dst: canvas, Src: image.NewUniform(ink), Face: face,
		Dot: fixed.Point26_6{X: fixed.I(at.X), Y: fixed.I(at.Y) + face.Metrics().Ascent},
	}
	drawer.DrawString(text)
}
