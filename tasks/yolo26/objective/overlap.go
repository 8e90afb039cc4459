package objective

import (
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// overlapOf is the intersection over union that assignment uses. Sides are
// clamped at 0, so an inverted box overlaps nothing.
func overlapOf(a, b geometry.Box, epsilon float64) float64 {
	width := max(min(a.X2, b.X2)-max(a.X1, b.X1), 0)
	height := max(min(a.Y2, b.Y2)-max(a.Y1, b.Y1), 0)
	intersection := width * height
	union := max(a.Width(), 0)*max(a.Height(), 0) + max(b.Width(), 0)*max(b.Height(), 0) - intersection
	return intersection / (union + epsilon)
}

// ciouEpsilon guards the quotients of the complete IoU.
const ciouEpsilon = 1e-7

// completeIoU holds the parts of the complete IoU of a prediction with a target
// (DIoU and CIoU, arXiv:1911.08287; YOLO26 specification, objective section
// 2.2): CIoU = overlap - distance - tradeoff*aspect. The derivatives are by the
// corners (x1, y1, x2, y2) of the prediction.
type completeIoU struct {
	overlap, distance, aspect float64
	// tradeoff is a constant for differentiation.
	tradeoff float64

	overlapSlopes, distanceSlopes, aspectSlopes [4]float64
}

// CompleteIoULoss returns 1 - CIoU of a predicted with a target box and its
// derivative by the corners (x1, y1, x2, y2) of the prediction. An inverted
// prediction is pulled by its centre only.
func CompleteIoULoss(predicted, target geometry.Box) (loss float64, slopes [4]float64) {
	parts := newCompleteIoU(predicted, target)
	for i := range slopes {
		slopes[i] = -parts.overlapSlopes[i] + parts.distanceSlopes[i] + parts.tradeoff*parts.aspectSlopes[i]
	}
	return 1 - (parts.overlap - parts.distance - parts.tradeoff*parts.aspect), slopes
}

func newCompleteIoU(predicted, target geometry.Box) completeIoU {
	var parts completeIoU
	parts.overlap, parts.overlapSlopes = overlapPart(predicted, target)
	parts.distance, parts.distanceSlopes = distancePart(predicted, target)
	parts.aspect, parts.aspectSlopes = aspectPart(predicted, target)
	parts.tradeoff = parts.aspect / ((1 - parts.overlap) + parts.aspect + ciouEpsilon)
	return parts
}

func overlapPart(p, t geometry.Box) (value float64, slopes [4]float64) {
	width, widthPasses := clampSide(min(p.X2, t.X2) - max(p.X1, t.X1))
	height, heightPasses := clampSide(min(p.Y2, t.Y2) - max(p.Y1, t.Y1))
	predictedWidth, predictedWidthPasses := clampSide(p.Width())
	predictedHeight, predictedHeightPasses := clampSide(p.Height())
	intersection := width * height
	union := predictedWidth*predictedHeight + max(t.Width(), 0)*max(t.Height(), 0) - intersection + ciouEpsilon
	value = intersection / union

	// By the intersection the quotient has derivative (1 + value) / union, by
	// the area of the prediction -value / union.
	common, area := (1+value)/union, -value/union
	byWidth, byHeight := common*height*widthPasses, common*width*heightPasses
	areaByWidth := area * predictedHeight * predictedWidthPasses
	areaByHeight := area * predictedWidth * predictedHeightPasses
	slopes = [4]float64{
		-byWidth*share(p.X1, t.X1) - areaByWidth,
		-byHeight*share(p.Y1, t.Y1) - areaByHeight,
		byWidth*share(t.X2, p.X2) + areaByWidth,
		byHeight*share(t.Y2, p.Y2) + areaByHeight,
	}
	return value, slopes
}

func distancePart(p, t geometry.Box) (value float64, slopes [4]float64) {
	dx := (p.X1+p.X2)/2 - (t.X1+t.X2)/2
	dy := (p.Y1+p.Y2)/2 - (t.Y1+t.Y2)/2
	width := max(p.X2, t.X2) - min(p.X1, t.X1)
	height := max(p.Y2, t.Y2) - min(p.Y1, t.Y1)
	diagonal := width*width + height*height + ciouEpsilon
	value = (dx*dx + dy*dy) / diagonal

	byWidth, byHeight := -2*value*width/diagonal, -2*value*height/diagonal
	slopes = [4]float64{
		dx/diagonal - byWidth*share(t.X1, p.X1),
		dy/diagonal - byHeight*share(t.Y1, p.Y1),
		dx/diagonal + byWidth*share(p.X2, t.X2),
		dy/diagonal + byHeight*share(p.Y2, t.Y2),
	}
	return value, slopes
}

func aspectPart(p, t geometry.Box) (value float64, slopes [4]float64) {
	width, widthPasses := clampSide(p.Width())
	height, heightPasses := clampSide(p.Height())
	difference := math.Atan2(max(t.Width(), 0), max(t.Height(), 0)) - math.Atan2(width, height)
	const scale = 4 / (math.Pi * math.Pi)
	value = scale * difference * difference

	// The arc tangent of (0,0) has no derivative; 0 is the convention.
	square := width*width + height*height
	if square == 0 {
		return value, slopes
	}
	byAngle := -2 * scale * difference
	byWidth := byAngle * height / square * widthPasses
	byHeight := -byAngle * width / square * heightPasses
	return value, [4]float64{-byWidth, -byHeight, byWidth, byHeight}
}

// clampSide clamps a side at 0 and returns the derivative of doing so.
func clampSide(side float64) (clamped, passes float64) {
	if side < 0 {
		return 0, 0
	}
	return side, 1
}

// share is the derivative of max(a, b) by a, which is also that of min(a, b)
// by b: half to each on a tie.
func share(a, b float64) float64 {
	switch {
	case a > b:
		return 1
	case a < b:
		return 0
	}
	return 0.5
}
