package objective

import (
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Dense holds the two outputs that a branch of every task has, or their
// cotangents, flat and row-major.
type Dense[T device.Float] struct {
	// Class is (B,A,C): logits.
	Class []T
	// Box is (B,A,4): left, top, right, bottom in stride units.
	Box []T
}

// BoxLoss is the overlap loss of one predicted with one target box, in pixels,
// and its derivative by the corners (x1, y1, x2, y2) of the prediction.
type BoxLoss func(predicted, target Box) (loss float64, slopes [4]float64)

// Losses are the functions of the detection terms.
type Losses struct {
	// Class is the classification loss, by default BinaryCrossEntropy.
	Class ClassLoss
	// Box is the overlap loss, by default CompleteIoULoss.
	Box BoxLoss
}

// DefaultLosses returns the functions of the specification.
func DefaultLosses() Losses { return Losses{Class: BinaryCrossEntropy, Box: CompleteIoULoss} }

// Functions lists the functions with their defaults.
func (l Losses) Functions() []Function {
	return []Function{
		{"classification loss", l.Class, []any{BinaryCrossEntropy}},
		{"box loss", l.Box, []any{CompleteIoULoss}},
	}
}

// Gains are the weights of the detection terms.
type Gains struct {
	Box, Class, L1 float64
}

// DefaultGains returns the gains of YOLO26 (arXiv:2606.03748, Table S2).
func DefaultGains() Gains {
	return Gains{Box: 7.5, Class: 0.5, L1: 6}
}

// DetectionTerms are the detection terms of one branch before gains.
type DetectionTerms struct {
	Class, Box, L1 float64
}

// Total is the branch total (YOLO26 specification, objective section 2.4).
func (t DetectionTerms) Total(gains Gains) float64 {
	return gains.Box*t.Box + gains.Class*t.Class + gains.L1*t.L1
}

// Detection returns the detection terms of one branch and sets cotangent, whose
// slices have the shapes of output, to weight times the derivative of their
// total: every element of Class, and Box where an anchor is positive. A new
// slice is zero elsewhere, as it has to be. A gain of 0 scales to zero: the term
// is still computed (YOLO26 specification, objective sections 2.1 to 2.4).
func Detection[T device.Float](
	losses Losses, gains Gains, grid *Grid, classes int,
	output Dense[T], truth *GroundTruth, assignment *Assignment,
	weight float64, cotangent Dense[T],
) DetectionTerms {
	terms := DetectionTerms{
		Class: Classification(losses.Class, output.Class, classes, grid.Anchors(), assignment, weight*gains.Class, cotangent.Class),
	}
	for image, positives := range assignment.Images {
		for _, positive := range positives {
			at := (image*grid.Anchors() + positive.Anchor) * 4
			predicted := DecodeBox(grid, positive.Anchor, output.Box[at:])
			target := truth.Boxes[image*truth.Instances+positive.Object]
			part := positive.Quality / assignment.Normaliser
			stride := grid.Stride[positive.Anchor]

			overlap, overlapSlopes := losses.Box(predicted, target)
			distance, distanceSlopes := cornerL1(predicted, target, stride)
			terms.Box += part * overlap
			terms.L1 += part * distance

			var corners [4]float64
			for i := range corners {
				corners[i] = weight * part * (gains.Box*overlapSlopes[i] + gains.L1*distanceSlopes[i])
			}
			for i, slope := range boxSlopes(stride, corners) {
				cotangent.Box[at+i] = T(slope)
			}
		}
	}
	return terms
}

// cornerL1 is the sum of the absolute differences of the four corners in stride
// units, with its derivative by the corners of the prediction (YOLO26
// specification, objective section 2.3).
func cornerL1(p, t geometry.Box, stride float64) (value float64, slopes [4]float64) {
	for i, difference := range [4]float64{p.X1 - t.X1, p.Y1 - t.Y1, p.X2 - t.X2, p.Y2 - t.Y2} {
		value += math.Abs(difference) / stride
		slopes[i] = sign(difference) / stride
	}
	return value, slopes
}

// sign is the derivative of |x|, 0 at 0.
func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
