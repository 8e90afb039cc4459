package objective

import (
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// sideFloor is the smallest side, in pixels, that rotated terms compute with.
// A floored side, a negative one too, has derivative 0.
const sideFloor = 1e-4

// radicandFloor is the smallest positive radicand of the Hellinger root.
const radicandFloor = 1e-20

// BhattacharyyaDistance returns the distance of two rotated boxes taken as
// Gaussians (ProbIoU, arXiv:2106.06072) and its derivative by
// (cx, cy, w, h, theta) of predicted. It is never negative, and exactly 0 for
// equal boxes. The form is that of the YOLO26 specification, objective section
// 2.5, which does not cancel for thin boxes as the determinant form does.
func BhattacharyyaDistance(predicted, target geometry.RotatedBox) (distance float64, slopes [5]float64) {
	pair := newGaussianPair(predicted, target)
	offset, offsetSlopes := pair.offset()
	shape, shapeSlopes := pair.shape()
	for i := range slopes {
		slopes[i] = offsetSlopes[i] + shapeSlopes[i]
	}
	slopes[2] *= pair.widthPasses
	slopes[3] *= pair.heightPasses
	return offset + shape, slopes
}

// HellingerDistance returns sqrt(1 - exp(-B)) of the Bhattacharyya distance B,
// which is 1 - ProbIoU, and its derivative by (cx, cy, w, h, theta) of
// predicted. At 0 the derivative is 0.
func HellingerDistance(predicted, target geometry.RotatedBox) (distance float64, slopes [5]float64) {
	exponent, exponentSlopes := BhattacharyyaDistance(predicted, target)
	radicand := -math.Expm1(-exponent)
	switch {
	case radicand == 0:
		return 0, slopes
	case radicand < radicandFloor:
		return math.Sqrt(radicandFloor), slopes
	}
	distance = math.Sqrt(radicand)
	scale := math.Exp(-exponent) / (2 * distance)
	for i, slope := range exponentSlopes {
		slopes[i] = scale * slope
	}
	return distance, slopes
}

// gaussianPair holds what both parts of the distance need of the two boxes.
type gaussianPair struct {
	predicted, target gaussian
	// cosSquare and sinSquare are of the angle between the boxes; turn is the
	// derivative of sinSquare by the predicted angle, sin of twice the angle.
	cosSquare, sinSquare, turn float64
	// widthPasses and heightPasses are the derivatives of the side floors.
	widthPasses, heightPasses float64
}

// gaussian is a box as a Gaussian: floored sides, variances along and across
// its long axis, the direction of that axis, and the offset between the two
// centres in its own frame.
type gaussian struct {
	width, height    float64
	along, across    float64
	cos, sin         float64
	offsetX, offsetY float64
}

func newGaussianPair(predicted, target geometry.RotatedBox) gaussianPair {
	dx, dy := predicted.CenterX-target.CenterX, predicted.CenterY-target.CenterY
	sin, cos := math.Sincos(predicted.Angle - target.Angle)
	pair := gaussianPair{
		predicted: newGaussian(predicted, dx, dy),
		target:    newGaussian(target, dx, dy),
		cosSquare: cos * cos,
		sinSquare: sin * sin,
		turn:      2 * sin * cos,
	}
	if predicted.Width >= sideFloor {
		pair.widthPasses = 1
	}
	if predicted.Height >= sideFloor {
		pair.heightPasses = 1
	}
	return pair
}

func newGaussian(box geometry.RotatedBox, dx, dy float64) gaussian {
	width, height := max(box.Width, sideFloor), max(box.Height, sideFloor)
	sin, cos := math.Sincos(box.Angle)
	return gaussian{
		width:   width,
		height:  height,
		along:   width * width / 12,
		across:  height * height / 12,
		cos:     cos,
		sin:     sin,
		offsetX: dx*cos + dy*sin,
		offsetY: dy*cos - dx*sin,
	}
}

// offset is the part B1 of the distance that the centres make, with its
// derivative; it is 0 for equal centres.
func (g gaussianPair) offset() (value float64, slopes [5]float64) {
	p, t := g.predicted, g.target
	numerator := p.across*p.offsetX*p.offsetX + p.along*p.offsetY*p.offsetY +
		t.across*t.offsetX*t.offsetX + t.along*t.offsetY*t.offsetY
	determinant := p.along*p.across + t.along*t.across +
		(p.along*t.across+t.along*p.across)*g.cosSquare +
		(p.along*t.along+p.across*t.across)*g.sinSquare
	value = numerator / (4 * determinant)

	byNumerator, byDeterminant := 1/(4*determinant), -value/determinant
	byAlong := byNumerator*p.offsetY*p.offsetY + byDeterminant*(p.across+t.across*g.cosSquare+t.along*g.sinSquare)
	byAcross := byNumerator*p.offsetX*p.offsetX + byDeterminant*(p.along+t.along*g.cosSquare+t.across*g.sinSquare)
	predictedX, predictedY := 2*p.across*p.offsetX, 2*p.along*p.offsetY
	targetX, targetY := 2*t.across*t.offsetX, 2*t.along*t.offsetY
	slopes = [5]float64{
		byNumerator * (predictedX*p.cos - predictedY*p.sin + targetX*t.cos - targetY*t.sin),
		byNumerator * (predictedX*p.sin + predictedY*p.cos + targetX*t.sin + targetY*t.cos),
		byAlong * p.width / 6,
		byAcross * p.height / 6,
		byNumerator*(predictedX*p.offsetY-predictedY*p.offsetX) +
			byDeterminant*g.turn*(p.along-p.across)*(t.along-t.across),
	}
	return value, slopes
}

// shape is the part of the distance that sides and angle make, with its
// derivative; it is 0 for boxes that differ by a shift only.
func (g gaussianPair) shape() (value float64, slopes [5]float64) {
	p, t := g.predicted, g.target
	// The conversions forbid fused multiply-adds, so that equal products cancel
	// to exactly 0 on every processor.
	area := float64(p.width*p.height) - float64(t.width*t.height)
	mixed := float64(p.width*t.height) - float64(t.width*p.height)
	crossed := float64(p.width*t.width) - float64(p.height*t.height)
	scale := 1 / (4 * p.width * p.height * t.width * t.height)
	excess := scale * (area*area + mixed*mixed*g.cosSquare + crossed*crossed*g.sinSquare)

	byExcess := 0.5 / (1 + excess)
	byWidth := 2 * scale * (area*p.height + mixed*t.height*g.cosSquare + crossed*t.width*g.sinSquare)
	byHeight := 2 * scale * (area*p.width - mixed*t.width*g.cosSquare - crossed*t.height*g.sinSquare)
	slopes = [5]float64{
		2: byExcess * (byWidth - excess/p.width),
		3: byExcess * (byHeight - excess/p.height),
		4: byExcess * scale * g.turn * (crossed*crossed - mixed*mixed),
	}
	return 0.5 * math.Log1p(excess), slopes
}
