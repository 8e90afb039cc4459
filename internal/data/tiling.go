package data

import (
	"fmt"
	"image"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Tiling cuts large images into square windows that overlap (data and evaluation
// specification, section 3; DOTA, arXiv:1711.10398, section 4).
type Tiling struct {
	// Patch is the side of a window and Overlap what neighbours share, in pixels.
	Patch, Overlap int
}

// DefaultTiling is what training uses; published DOTA figures use an overlap of 512.
var DefaultTiling = Tiling{Patch: 1024, Overlap: 200}

// Validate refuses windows that do not advance.
func (t Tiling) Validate() error {
	if t.Patch < 1 || t.Overlap < 0 || t.Overlap >= t.Patch {
		return fmt.Errorf("tiling: patch %d with overlap %d; the patch must be positive and larger than the overlap, such as 1024 and 200", t.Patch, t.Overlap)
	}
	return nil
}

// starts are where the windows along an axis of length pixels begin. The last one
// ends with the image.
func (t Tiling) starts(length int) []int {
	starts := []int{0}
	if length <= t.Patch {
		return starts
	}
	last := 0
	for next := t.Patch - t.Overlap; next+t.Patch <= length; next += t.Patch - t.Overlap {
		starts, last = append(starts, next), next
	}
	if last+t.Patch < length {
		starts = append(starts, length-t.Patch)
	}
	return starts
}

// Windows are the windows of an image of width x height pixels, row by row. An
// axis shorter than the patch gives windows of its length.
func (t Tiling) Windows(width, height int) []image.Rectangle {
	var windows []image.Rectangle
	for _, y := range t.starts(height) {
		for _, x := range t.starts(width) {
			windows = append(windows, image.Rect(x, y, min(x+t.Patch, width), min(y+t.Patch, height)))
		}
	}
	return windows
}

// wholeFraction is how much of an instance a window must show to hold it as it is.
const wholeFraction = 0.7

// TileTarget is the part of an oriented target that a window shows, in pixels of
// the window, with the visible fraction of every instance. An instance of which
// at least 0.7 is visible is kept as it is, though it sticks out; of one that is
// visible in part the rotated box is cut to what is visible, in its own
// orientation, and flagged difficult.
func TileTarget(t Target, window image.Rectangle) (Target, []float64) {
	var tile Target
	var visible []float64
	bounds := geometry.Box{X1: float64(window.Min.X), Y1: float64(window.Min.Y), X2: float64(window.Max.X), Y2: float64(window.Max.Y)}
	for i, rotated := range t.Rotated {
		corners := rotated.Corners()
		region := geometry.ClipToBox(corners[:], bounds)
		fraction := geometry.PolygonArea(region) / (rotated.Width * rotated.Height)
		if !(fraction > 0) {
			continue
		}
		difficult := len(t.Difficult) > 0 && t.Difficult[i]
		box := t.Boxes[i]
		if fraction < wholeFraction {
			difficult = true
			fit := geometry.TightRectangle(region, rotated.Angle).Corners()
			rotated, box = geometry.FitQuadrilateral(fit), geometry.Envelope(region)
		}
		rotated.CenterX, rotated.CenterY = rotated.CenterX-bounds.X1, rotated.CenterY-bounds.Y1
		box = geometry.Box{X1: box.X1 - bounds.X1, Y1: box.Y1 - bounds.Y1, X2: box.X2 - bounds.X1, Y2: box.Y2 - bounds.Y1}
		tile.add(t.Labels[i], instance{box: box, rotated: &rotated})
		tile.Difficult = append(tile.Difficult, difficult)
		visible = append(visible, fraction)
	}
	return tile, visible
}
