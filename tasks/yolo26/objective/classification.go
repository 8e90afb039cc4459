package objective

import (
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
)

// ClassLoss is the classification loss of one anchor. logits and targets have C
// elements; the targets are 0 but for the quality at the label of a positive.
// It writes the derivative by every logit to slopes, also C long, and returns
// the loss. It is called from several goroutines at once, so it must depend on
// nothing but its arguments and must not keep them.
type ClassLoss func(logits, targets, slopes []float64) float64

// BinaryCrossEntropy is the default ClassLoss, the sum over classes of
// max(z,0) - z*y + log(1+exp(-|z|)) with derivative logistic(z) - y (YOLO26
// specification, objective section 2.1).
func BinaryCrossEntropy(logits, targets, slopes []float64) float64 {
	// The logarithms are taken together: excess is the product of all
	// 1+exp(-|z|), less 1. It is a sum of positive numbers, so it keeps its
	// digits where every factor is close to 1. A factor is at most 2, so the
	// product is taken up long before it could overflow.
	const nearOverflow = 1e300
	sum, excess := 0.0, 0.0
	for c, z := range logits {
		decay := math.Exp(-math.Abs(z))
		sum += max(z, 0) - z*targets[c]
		excess += decay * (1 + excess)
		if excess > nearOverflow {
			sum += math.Log1p(excess)
			excess = 0
		}
		slopes[c] = logisticOf(z, decay) - targets[c]
	}
	return sum + math.Log1p(excess)
}

// Classification returns the classification term of a branch, the loss of every
// anchor of every image over W, before gains. logits is (B,A,C). It sets
// cotangent, of the same shape, to weight times the derivative.
func Classification[T device.Float](loss ClassLoss, logits []T, classes, anchors int, assignment *Assignment, weight float64, cotangent []T) float64 {
	sums := make([]float64, len(assignment.Images))
	scale := weight / assignment.Normaliser
	Each(len(sums), func(image int) {
		row := make([]float64, classes)
		targets := make([]float64, classes)
		slopes := make([]float64, classes)
		positives := assignment.Images[image]
		for anchor := range anchors {
			label := -1
			if len(positives) > 0 && positives[0].Anchor == anchor {
				label = positives[0].Label
				targets[label] = positives[0].Quality
				positives = positives[1:]
			}
			base := (image*anchors + anchor) * classes
			for c, z := range logits[base : base+classes] {
				row[c] = float64(z)
			}
			sums[image] += loss(row, targets, slopes)
			for c, slope := range slopes {
				cotangent[base+c] = T(scale * slope)
			}
			if label >= 0 {
				targets[label] = 0
			}
		}
	})
	total := 0.0
	for _, sum := range sums {
		total += sum
	}
	return total / assignment.Normaliser
}

// logistic is 1/(1+exp(-z)), without overflow at either end.
func logistic(z float64) float64 {
	return logisticOf(z, math.Exp(-math.Abs(z)))
}

// logisticOf is logistic(z) for a caller that has exp(-|z|) already.
func logisticOf(z, decay float64) float64 {
	if z < 0 {
		return decay / (1 + decay)
	}
	return 1 / (1 + decay)
}
