// Package picture draws boxes, masks and keypoints with class and score on images, and tiles
// pictures on contact sheets, for a person to look at.
package picture

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"iter"
	"math"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Annotation is one thing to draw on an image.
type Annotation struct {
	// Outline is a closed polygon in pixels of the image; it may stick out.
	Outline []geometry.Point
	// Class picks the colour.
	Class int
	// Text is drawn beside the outline, see Label.
	Text string
	// Ring is the outline of a mask, filled; fewer than three points are none.
	Ring []geometry.Point
	// Mask is a mask by its pixels, in those of the image; nil for none.
	Mask *image.Alpha
	// Points are keypoints, joined by Bones: pairs of their indices, each below
	// their number. Without any, those of a person join 17 points.
	Points []Mark
	Bones  [][2]int
}

// Label is the text of a class with a score in [0,1], such as "plane 0.93".
func Label(class string, score float64) string {
	return fmt.Sprintf("%s %.2f", class, score)
}

// FromBox is the annotation of an axis-aligned box.
func FromBox(box geometry.Box, class int, text string) Annotation {
	outline := []geometry.Point{{X: box.X1, Y: box.Y1}, {X: box.X2, Y: box.Y1}, {X: box.X2, Y: box.Y2}, {X: box.X1, Y: box.Y2}}
	return Annotation{Outline: outline, Class: class, Text: text}
}

// FromRotated is the annotation of a rotated box.
func FromRotated(box geometry.RotatedBox, class int, text string) Annotation {
	corners := box.Corners()
	return Annotation{Outline: corners[:], Class: class, Text: text}
}

// Annotate returns a copy of the image with the annotations on it, the first on
// top: callers sort by falling score. Masks lie below all outlines, large ones
// below small ones. A text is put where it covers neither another text nor the core
// of another object, and is left out when no such place is free: in a crowd the
// colours tell the classes. An outline with a coordinate that
// is not finite, as a diverged network gives, is left out with its text.
func Annotate(base image.Image, annotations []Annotation) (*image.RGBA, error) {
	bounds := base.Bounds()
	canvas := image.NewRGBA(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
	draw.Draw(canvas, canvas.Rect, base, bounds.Min, draw.Src)
	style := styleFor(bounds.Dx(), bounds.Dy())
	face, err := newFace(style.textHeight)
	if err != nil {
		return nil, err
	}
	defer face.Close()
	annotations = drawable(annotations)
	// What is small lies on what is large, and every line on every surface.
	for _, annotation := range slices.SortedStableFunc(backward(annotations), largerFirst) {
		drawSurface(canvas, annotation)
	}
	for annotation := range backward(annotations) {
		drawRing(canvas, annotation, style)
		drawOutline(canvas, annotation, style)
		drawPose(canvas, annotation, style)
	}
	var others occupied
	for _, annotation := range annotations {
		others.cores = append(others.cores, core(annotation.Outline, style))
	}
	for _, annotation := range annotations {
		if annotation.Text == "" {
			continue
		}
		size := textSize(face, annotation.Text, style)
		if place, ok := freePlace(canvas.Rect, annotation.Outline, size, &others); ok {
			drawTag(canvas, place, annotation, face, style)
			others.tags = append(others.tags, place)
		}
	}
	return canvas, nil
}

// backward gives the annotations from the last to the first, which is the order of
// drawing.
func backward(annotations []Annotation) iter.Seq[Annotation] {
	return func(yield func(Annotation) bool) {
		for _, annotation := range slices.Backward(annotations) {
			if !yield(annotation) {
				return
			}
		}
	}
}

func largerFirst(a, b Annotation) int {
	return cmp.Compare(geometry.Envelope(b.Outline).Area(), geometry.Envelope(a.Outline).Area())
}

// reach bounds the coordinates given to the rasteriser, whose arithmetic is
// float32. It is far outside any picture.
const reach = 1 << 20

// drawable returns the annotations that have an outline of finite coordinates,
// with those coordinates within reach.
func drawable(annotations []Annotation) []Annotation {
	var kept []Annotation
	for _, annotation := range annotations {
		outline := make([]geometry.Point, len(annotation.Outline))
		finite := len(outline) > 0
		for i, p := range annotation.Outline {
			finite = finite && !math.IsNaN(p.X+p.Y) && !math.IsInf(p.X, 0) && !math.IsInf(p.Y, 0)
			outline[i] = geometry.Point{X: min(max(p.X, -reach), reach), Y: min(max(p.Y, -reach), reach)}
		}
		if finite {
			annotation.Outline = outline
			kept = append(kept, annotation)
		}
	}
	return kept
}

// WritePNG writes an image as a PNG file, whole or not at all.
func WritePNG(file string, source image.Image) error {
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, source); err != nil {
		return fmt.Errorf("%s: picture cannot be encoded: %w; give an image that is not empty", file, err)
	}
	if err := renameio.WriteFile(file, encoded.Bytes(), 0o644); err != nil {
		return fmt.Errorf("%s: picture cannot be written: %w; give a file in a directory that can be written", file, err)
	}
	return nil
}
