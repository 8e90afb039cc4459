package objective

import (
	"math"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/runtime/device"
)

// OrientedRow is one positive anchor as an oriented term sees it.
type OrientedRow struct {
	// Predicted is the decoded and Target the assigned box, both canonical.
	Predicted, Target RotatedBox
	// RawAngle is the predicted angle before canonicalisation, in radians.
	RawAngle float64
	// Stride is the cell side of the anchor, in pixels.
	Stride float64
	// Weight is q/W, the share of the row in a term of its branch.
	Weight float64

	// flat is the row of the anchor in (B,A); swapped tells that the canonical
	// form exchanged the extents.
	flat    int
	swapped bool
}

// OrientedTerm is a loss over the positives of one branch in one batch, ordered
// by image and ascending anchor. It returns the weighted sum, before its gain,
// and the derivative of that sum by (cx, cy, w, h, theta) of every Predicted;
// the derivative by theta is also that by RawAngle.
//
// A gradient of length zero that is not nil, the right answer for no rows, says
// that the term took part and has derivative 0. A nil gradient says that the
// term took no part. It must not keep its argument.
type OrientedTerm func(rows []OrientedRow) (value float64, gradient [][5]float64)

// OrientedRows decodes the positives of one branch. box is (B,A,4) in stride
// units and angle (B,A,1) in radians; truth must hold rotated boxes (YOLO26
// specification, objective section 2.6).
func OrientedRows[T device.Float](grid *Grid, box, angle []T, truth *GroundTruth, assignment *Assignment) []OrientedRow {
	rows := make([]OrientedRow, 0, assignment.Count)
	for image, positives := range assignment.Images {
		for _, positive := range positives {
			flat := image*grid.Anchors() + positive.Anchor
			ltrb := box[flat*4 : flat*4+4]
			upright := DecodeBox(grid, positive.Anchor, ltrb)
			rows = append(rows, OrientedRow{
				Predicted: DecodeRotated(grid, positive.Anchor, ltrb, angle[flat]),
				Target:    truth.Rotated[image*truth.Instances+positive.Object],
				RawAngle:  float64(angle[flat]),
				Stride:    grid.Stride[positive.Anchor],
				Weight:    positive.Quality / assignment.Normaliser,
				flat:      flat,
				swapped:   upright.Width() < upright.Height(),
			})
		}
	}
	return rows
}

// AddOrientedCotangents carries derivatives by the canonical boxes of rows to
// the raw outputs and adds them to box, (B,A,4), and to angle, (B,A,1). A nil
// angle, an absent one, is left alone.
func AddOrientedCotangents[T device.Float](rows []OrientedRow, gradient [][5]float64, box, angle []T) {
	for i, row := range rows {
		corners, byAngle := rotatedSlopes(gradient[i], row.swapped)
		for side, slope := range boxSlopes(row.Stride, corners) {
			box[row.flat*4+side] += T(slope)
		}
		if angle != nil {
			angle[row.flat] += T(byAngle)
		}
	}
}

// HellingerTerm is the rotated overlap term, the default form: the weighted sum
// of 1 - ProbIoU.
func HellingerTerm(rows []OrientedRow) (value float64, gradient [][5]float64) {
	return sumRows(rows, func(row OrientedRow) (float64, [5]float64) {
		return HellingerDistance(row.Predicted, row.Target)
	})
}

// BhattacharyyaTerm is the other form of the rotated overlap term: the weighted
// sum of Bhattacharyya distances.
func BhattacharyyaTerm(rows []OrientedRow) (value float64, gradient [][5]float64) {
	return sumRows(rows, func(row OrientedRow) (float64, [5]float64) {
		return BhattacharyyaDistance(row.Predicted, row.Target)
	})
}

// RotatedL1Term is the weighted sum of the absolute differences of centre and
// extents in stride units; the angle has no part in it.
func RotatedL1Term(rows []OrientedRow) (value float64, gradient [][5]float64) {
	return sumRows(rows, func(row OrientedRow) (value float64, slopes [5]float64) {
		p, t := row.Predicted, row.Target
		differences := [4]float64{p.CenterX - t.CenterX, p.CenterY - t.CenterY, p.Width - t.Width, p.Height - t.Height}
		for i, difference := range differences {
			value += math.Abs(difference) / row.Stride
			slopes[i] = sign(difference) / row.Stride
		}
		return value, slopes
	})
}

// AngleTerm is the weighted sum of omega * sin^2(2r), with r the residual of
// the raw angle and omega a weight that falls with the aspect of the target
// (YOLO26, arXiv:2606.03748, Eq. 14-15).
func AngleTerm(rows []OrientedRow) (value float64, gradient [][5]float64) {
	return sumRows(rows, func(row OrientedRow) (float64, [5]float64) {
		weight := aspectWeight(row.Target)
		_, residual := angleResidual(row.RawAngle - row.Target.Angle)
		sin := math.Sin(2 * residual)
		return weight * sin * sin, [5]float64{4: weight * 2 * math.Sin(4*residual)}
	})
}

// angleResidual reduces a difference of angles modulo pi to wrapped in
// [-pi/2, pi/2) and folds it by pi/2 to folded in [-pi/4, pi/4), since exchanged
// axes of a box are no error of its angle.
func angleResidual(difference float64) (wrapped, folded float64) {
	turns := math.Floor(difference/math.Pi + 0.5)
	wrapped = difference - float64(turns*math.Pi)
	folded = wrapped
	if folded >= math.Pi/4 {
		folded -= math.Pi / 2
	} else if folded < -math.Pi/4 {
		folded += math.Pi / 2
	}
	return wrapped, folded
}

// aspectWeight is exp(-ln^2(w/h)/9), lambda 3 in the paper's Table 11.
func aspectWeight(box geometry.RotatedBox) float64 {
	logarithm := math.Log(max(box.Width, sideFloor) / max(box.Height, sideFloor))
	return math.Exp(-logarithm * logarithm / 9)
}

// sumRows adds up the weighted losses of the rows and keeps their weighted
// derivatives. The gradient is never nil.
func sumRows(rows []OrientedRow, loss func(OrientedRow) (float64, [5]float64)) (total float64, gradient [][5]float64) {
	gradient = make([][5]float64, len(rows))
	for i, row := range rows {
		value, slopes := loss(row)
		total += row.Weight * value
		for k, slope := range slopes {
			gradient[i][k] = row.Weight * slope
		}
	}
	return total, gradient
}
