package objective

import (
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// Point is one labelled keypoint of a positive. Coordinates are in the frame of
// the assigned object's box: 0 at its left and top, 1 at its right and bottom,
// sides below 1 px counting as 1 px.
type Point struct {
	Predicted, Target geometry.Point
	// RawSpread is the raw spread in x and y; the spread itself is its logistic,
	// at least 1e-6.
	RawSpread geometry.Point

	flat  int        // position of its four channels in the output
	scale [2]float64 // derivatives of Predicted by the raw offsets
}

// KeypointTerm is a likelihood loss over the labelled points of one branch in
// one batch, ordered by image, anchor and point. It returns the mean, before its
// gain, with its derivatives by the predicted x and y and the raw spread in x
// and y of every point, and by the parameters of the flow; the flow is nil when
// the objective has none.
//
// Slopes of length zero that are not nil, the right answer for no points, say
// that the term took part and has derivative 0. Nil slopes, and a nil gradient
// of the flow, say that these took no part. It must not keep its arguments.
type KeypointTerm func(points []Point, flow *Flow) (value float64, slopes [][4]float64, gradient *Flow)

// leastSpread is the floor of the spreads, in sides of the box.
const leastSpread = 1e-6

// LaplaceTerm is the mean over points of ln 2 + |x| + ln s summed over both
// axes, x = (target - predicted) / s with the spread s (YOLO26 specification,
// objective section 2.9).
func LaplaceTerm(points []Point, _ *Flow) (value float64, slopes [][4]float64, gradient *Flow) {
	value, slopes = likelihood(points, nil)
	return value, slopes, nil
}

// RLETerm is LaplaceTerm less the mean logarithm of the flow's density at x
// (arXiv:2107.11291; YOLO26 specification, objective section 2.9).
func RLETerm(points []Point, flow *Flow) (value float64, slopes [][4]float64, gradient *Flow) {
	residuals := make([][2]float64, len(points))
	for i, p := range points {
		for axis, a := range p.axes() {
			residuals[i][axis] = a.residual
		}
	}
	logDensity, bySlopes, sum := flow.LogDensity(residuals)
	value, slopes = likelihood(points, bySlopes)
	share := 1 / float64(max(len(points), 1))
	for _, l := range logDensity {
		value -= l * share
	}
	gradient = zeroFlow()
	gradient.addScaled(-share, sum)
	return value, slopes, gradient
}

// axis is one coordinate of a point.
type axis struct {
	spread   float64
	passes   float64 // derivative of the spread by the raw spread
	residual float64
}

func (p Point) axes() [2]axis {
	return [2]axis{
		newAxis(p.Predicted.X, p.Target.X, p.RawSpread.X),
		newAxis(p.Predicted.Y, p.Target.Y, p.RawSpread.Y),
	}
}

func newAxis(predicted, target, raw float64) axis {
	logistic := 1 / (1 + math.Exp(-raw))
	a := axis{spread: logistic, passes: logistic * (1 - logistic)}
	if logistic < leastSpread {
		a.spread, a.passes = leastSpread, 0
	}
	a.residual = (target - predicted) / a.spread
	return a
}

// likelihood is the mean Laplace form and the derivatives of it less the
// logarithm of a density, given by its derivatives at the residuals; nil is no
// density.
func likelihood(points []Point, logDensity [][2]float64) (value float64, slopes [][4]float64) {
	share := 1 / float64(max(len(points), 1))
	slopes = make([][4]float64, len(points))
	for i, p := range points {
		for k, a := range p.axes() {
			value += (math.Ln2 + math.Abs(a.residual) + math.Log(a.spread)) * share
			byResidual := sign(a.residual)
			if logDensity != nil {
				byResidual -= logDensity[i][k]
			}
			slopes[i][k] = -byResidual / a.spread * share
			slopes[i][2+k] = (1 - byResidual*a.residual) / a.spread * a.passes * share
		}
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
