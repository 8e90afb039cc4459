package data

import (
	"fmt"
	"math"
	"slices"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Letterbox is the map of an image into a canvas that keeps its shape: scaled by
// Ratio and centred between pads (data and evaluation specification, section 5).
// All lengths are in pixels.
type Letterbox struct {
	// Ratio scales coordinates. It is not rounded, while the content size is.
	Ratio float64
	// ContentWidth and ContentHeight are the size of the scaled image.
	ContentWidth, ContentHeight int
	// PadLeft and PadTop are where the content starts on the canvas.
	PadLeft, PadTop int
	// Width and Height are the size of the canvas.
	Width, Height int
}

// NewLetterbox fits an image of width x height pixels into a canvas. All four
// sizes must be positive.
func NewLetterbox(width, height, canvasWidth, canvasHeight int) Letterbox {
	ratio := math.Min(float64(canvasHeight)/float64(height), float64(canvasWidth)/float64(width))
	scaled := func(length, limit int) int {
		return min(max(int(math.RoundToEven(float64(length)*ratio)), 1), limit)
	}
	contentWidth, contentHeight := scaled(width, canvasWidth), scaled(height, canvasHeight)
	return Letterbox{
		Ratio:         ratio,
		ContentWidth:  contentWidth,
		ContentHeight: contentHeight,
		PadLeft:       (canvasWidth - contentWidth) / 2,
		PadTop:        (canvasHeight - contentHeight) / 2,
		Width:         canvasWidth,
		Height:        canvasHeight,
	}
}

// Point maps a point of the image to the canvas.
func (l Letterbox) Point(p geometry.Point) geometry.Point {
	return geometry.Point{X: p.X*l.Ratio + float64(l.PadLeft), Y: p.Y*l.Ratio + float64(l.PadTop)}
}

// InversePoint maps a point of the canvas back to the image, which it may leave.
func (l Letterbox) InversePoint(p geometry.Point) geometry.Point {
	return geometry.Point{X: (p.X - float64(l.PadLeft)) / l.Ratio, Y: (p.Y - float64(l.PadTop)) / l.Ratio}
}

// Box maps a box of the image to the canvas.
func (l Letterbox) Box(b geometry.Box) geometry.Box {
	return mapBox(b, l.Point)
}

// InverseBox maps a box of the canvas back to the image, which it may leave.
func (l Letterbox) InverseBox(b geometry.Box) geometry.Box {
	return mapBox(b, l.InversePoint)
}

func mapBox(b geometry.Box, point func(geometry.Point) geometry.Point) geometry.Box {
	low, high := point(geometry.Point{X: b.X1, Y: b.Y1}), point(geometry.Point{X: b.X2, Y: b.Y2})
	return geometry.Box{X1: low.X, Y1: low.Y, X2: high.X, Y2: high.Y}
}

// Rotated maps a rotated box of the image to the canvas.
func (l Letterbox) Rotated(r geometry.RotatedBox) geometry.RotatedBox {
	center := l.Point(geometry.Point{X: r.CenterX, Y: r.CenterY})
	r.CenterX, r.CenterY = center.X, center.Y
	r.Width, r.Height = r.Width*l.Ratio, r.Height*l.Ratio
	return r
}

// InverseRotated maps a rotated box of the canvas back to the image, which it
// may leave.
func (l Letterbox) InverseRotated(r geometry.RotatedBox) geometry.RotatedBox {
	center := l.InversePoint(geometry.Point{X: r.CenterX, Y: r.CenterY})
	r.CenterX, r.CenterY = center.X, center.Y
	r.Width, r.Height = r.Width/l.Ratio, r.Height/l.Ratio
	return r
}

// Target maps every coordinate of a record and leaves the rest as it is.
func (l Letterbox) Target(t Target) Target {
	mapped := t.Clone()
	for i, box := range mapped.Boxes {
		mapped.Boxes[i] = l.Box(box)
	}
	for i, rotated := range mapped.Rotated {
		mapped.Rotated[i] = l.Rotated(rotated)
	}
	for _, points := range slices.Concat(mapped.Polygons, mapped.Keypoints) {
		for i, point := range points {
			points[i] = l.Point(point)
		}
	}
	return mapped
}

// Image is the scaled image on a canvas of grey 114/255. The raster must have the
// size that the letterbox was made for.
func (l Letterbox) Image(r *Raster) *Image {
	return &Image{Width: l.Width, Height: l.Height, scene: letterboxed{l, r}}
}

// letterboxed is the scene of a letterbox.
type letterboxed struct {
	letterbox Letterbox
	raster    *Raster
}

func (s letterboxed) painter() func(y int, row []float32) (from, to int) {
	l := s.letterbox
	content := s.raster.float().resize(l.ContentWidth, l.ContentHeight)
	return func(y int, row []float32) (from, to int) {
		if y -= l.PadTop; y < 0 || y >= content.height {
			return 0, 0
		}
		copy(row[3*l.PadLeft:], content.values[3*y*content.width:3*(y+1)*content.width])
		return l.PadLeft, l.PadLeft + content.width
	}
}

// LetterboxBase is the base that letterboxes an image to a square canvas, for
// validation and prediction.
type LetterboxBase struct {
	// Size is the side of the canvas in pixels.
	Size int
}

// Name is "letterbox".
func (b LetterboxBase) Name() string { return "letterbox" }

// Validate refuses a size that is not positive.
func (b LetterboxBase) Validate() error {
	if b.Size <= 0 {
		return fmt.Errorf("letterbox: size %d is not positive; give the side of the input in pixels", b.Size)
	}
	return nil
}

// Sample draws no random numbers.
func (b LetterboxBase) Sample(draw *Draw, index int) (Sample, error) {
	native, err := draw.Source.Native(index)
	if err != nil {
		return Sample{}, err
	}
	letterbox := NewLetterbox(native.Raster.Width, native.Raster.Height, b.Size, b.Size)
	return Sample{Image: letterbox.Image(native.Raster), Target: letterbox.Target(native.Target)}, nil
}
