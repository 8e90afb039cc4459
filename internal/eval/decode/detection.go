package decode

import (
	"cmp"
	"math"
	"slices"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// Pick is an anchor that became a detection, with its best class.
type Pick struct {
	Anchor, Class int
	// Score is the probability of the class, in [0,1].
	Score float64
}

// Detection is a detected axis-aligned box.
type Detection struct {
	Pick
	// Box is in pixels of the canvas, or of the image after Original.
	Box geometry.Box
}

// Rotated is a detected rotated box.
type Rotated struct {
	Pick
	// Box is canonical and in pixels of the canvas, or of the image after
	// Original.
	Box geometry.RotatedBox
}

// Original maps the detection from the letterboxed canvas to the original image,
// without clipping to it (YOLO26 specification, data and evaluation section 8.5).
func (d Detection) Original(letterbox data.Letterbox) Detection {
	d.Box = letterbox.InverseBox(d.Box)
	return d
}

// Original maps the detection from the letterboxed canvas to the original image:
// its centre and its extents, while the angle stays (YOLO26 specification, data
// and evaluation section 8.5).
func (d Rotated) Original(letterbox data.Letterbox) Rotated {
	d.Box = letterbox.InverseRotated(d.Box)
	return d
}

// ranking orders picks by descending score, equal scores by ascending anchor.
func ranking(a, b Pick) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Anchor, b.Anchor))
}

// sortPicks puts detections in ranking order, equal ones in the order given.
func sortPicks[D any](detections []D, pick func(D) Pick) {
	slices.SortStableFunc(detections, func(a, b D) int { return ranking(pick(a), pick(b)) })
}

func sigmoid(logit float64) float64 {
	// The exponential of a positive number could overflow.
	if logit < 0 {
		e := math.Exp(logit)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-logit))
}
