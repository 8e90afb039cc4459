// Package overlap measures how far two boxes cover each other, for suppression
// and for evaluation.
package overlap

import (
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Common is the area of the intersection of two boxes in square pixels, 0 when
// they share nothing.
func Common(a, b geometry.Box) float64 {
	return geometry.Box{
		X1: max(a.X1, b.X1),
		Y1: max(a.Y1, b.Y1),
		X2: min(a.X2, b.X2),
		Y2: min(a.Y2, b.Y2),
	}.Area()
}

// IoU is the intersection over union of two boxes, in [0,1]. A box whose sides
// are not both positive overlaps nothing (YOLO26 specification, data and
// evaluation section 8.2).
func IoU(a, b geometry.Box) float64 {
	common := Common(a, b)
	if common == 0 {
		return 0
	}
	return common / (a.Area() + b.Area() - common)
}

// RotatedIoU is the exact intersection over union of two rotated boxes where it
// is at least floor, which must be positive. Below it may be given as 0, which
// saves the clipping for most pairs.
func RotatedIoU(a, b geometry.RotatedBox, floor float64) float64 {
	// The margin is far above the rounding of the exact overlap.
	const margin = 1e-9
	// The overlap is at most the ratio of the areas.
	areaA, areaB := a.Width*a.Height, b.Width*b.Height
	if min(areaA, areaB) < (floor-margin)*max(areaA, areaB) {
		return 0
	}
	// Boxes whose circumscribed circles are apart share nothing.
	reach := (math.Hypot(a.Width, a.Height) + math.Hypot(b.Width, b.Height)) / 2
	if math.Hypot(a.CenterX-b.CenterX, a.CenterY-b.CenterY) > reach {
		return 0
	}
	return geometry.RotatedIoU(a, b)
}
