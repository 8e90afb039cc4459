package objective

import (
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Instance is the labelled keypoints of one positive, in pixels. It has at least
// one.
type Instance struct {
	// Area is the area of the assigned object's box, at least 1.
	Area              float64
	Predicted, Target []geometry.Point
	// Tolerance is the constant k of every point, twice its deviation.
	Tolerance []float64

	flat   []int // positions of the points' channels in the output
	stride float64
}

// SimilarityTerm is a loss over the instances of one branch in one batch. It
// returns the mean, before its gain, and its derivatives by the predicted x and
// y of every point of every instance. Nil slopes say that the term took no part.
type SimilarityTerm func(instances []Instance) (value float64, slopes [][][2]float64)

// SimilarityLoss is the mean of one less the object keypoint similarity, which
// is the mean over points of exp(-d^2 / (2 area k^2)) at a distance d (COCO,
// arXiv:1405.0312; YOLO26 specification, objective section 2.10).
func SimilarityLoss(instances []Instance) (value float64, slopes [][][2]float64) {
	share := 1 / float64(max(len(instances), 1))
	slopes = make([][][2]float64, len(instances))
	for i, one := range instances {
		part := share / float64(len(one.Predicted))
		slopes[i] = make([][2]float64, len(one.Predicted))
		value += share
		for p, predicted := range one.Predicted {
			dx, dy := predicted.X-one.Target[p].X, predicted.Y-one.Target[p].Y
			reach := one.Area * one.Tolerance[p] * one.Tolerance[p]
			kernel := math.Exp(-(dx*dx + dy*dy) / (2 * reach))
			value -= part * kernel
			slopes[i][p] = [2]float64{part * kernel * dx / reach, part * kernel * dy / reach}
		}
	}
	return value, slopes
}

// personDeviations are those of the 17 keypoints of persons (COCO).
var personDeviations = [17]float64{
	.026, .025, .025, .035, .035, .079, .079, .072, .072, .062, .062, .107, .107, .087, .087, .089, .089,
}

// otherDeviation is that of every keypoint of anything else.
const otherDeviation = .072

// tolerances gives the constant k of each of a number of points.
func tolerances(points int) []float64 {
	out := make([]float64, points)
	for i := range out {
		out[i] = 2 * otherDeviation
		if points == len(personDeviations) {
			out[i] = 2 * personDeviations[i]
		}
	}
	return out
}
