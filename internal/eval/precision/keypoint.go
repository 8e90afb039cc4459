package precision

import (
	"fmt"
	"math"
	"slices"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// personSigmas are the spreads of the 17 COCO person keypoints.
var personSigmas = []float64{
	.026, .025, .025, .035, .035, .079, .079, .072, .072, .062, .062, .107, .107, .087, .087, .089, .089,
}

// plainSigma is the spread of every keypoint of any other set.
const plainSigma = 0.072

// Sigmas are the spreads of a set of keypoints relative to the object's scale:
// those of COCO for 17 points, 0.072 each otherwise.
func Sigmas(points int) []float64 {
	if points == len(personSigmas) {
		return slices.Clone(personSigmas)
	}
	return slices.Repeat([]float64{plainSigma}, points)
}

// KeypointDetection is a detected set of keypoints.
type KeypointDetection struct {
	decode.Pick
	Points []geometry.Point
}

// KeypointObject is an annotated set of keypoints. An object without a labelled
// point is ignored.
type KeypointObject struct {
	Object
	// Box tells where an object without labelled points excuses detections.
	Box    geometry.Box
	Points []geometry.Point
	// Visibility goes with Points: 0 unlabelled, 1 labelled but hidden, 2 visible.
	Visibility []uint8
}

// Labelled are the labelled points of the object.
func (o KeypointObject) Labelled() []geometry.Point {
	var labelled []geometry.Point
	for k, p := range o.Points {
		if o.Visibility[k] > 0 {
			labelled = append(labelled, p)
		}
	}
	return labelled
}

// AddKeypoints evaluates the keypoints of one image under the given spreads, one
// per point. An object or a detection with another number of points is an error.
func (e *COCO) AddKeypoints(detections []KeypointDetection, objects []KeypointObject, sigmas []float64) error {
	rows := make([]Detection, len(detections))
	for i, d := range detections {
		if len(d.Points) != len(sigmas) {
			return fmt.Errorf("detection %d: %d keypoints where the set has %d; pass outputs of a network for this set", i, len(d.Points), len(sigmas))
		}
		rows[i] = Detection{Class: d.Class, Score: d.Score, Area: geometry.Envelope(d.Points).Area()}
	}
	plain := make([]Object, len(objects))
	for i, o := range objects {
		if len(o.Points) != len(sigmas) || len(o.Visibility) != len(sigmas) {
			return fmt.Errorf("object %d: %d keypoints and %d visibilities where the set has %d; correct the annotation",
				i, len(o.Points), len(o.Visibility), len(sigmas))
		}
		plain[i] = o.Object
		plain[i].Ignore = plain[i].Ignore || len(o.Labelled()) == 0
	}
	return e.Add(rows, plain, func(d, o int) float64 { return OKS(detections[d].Points, objects[o], sigmas) })
}

// areaEpsilon keeps the scale of an object of no area above 0, as in COCO.
const areaEpsilon = 0x1p-52

// OKS is the object keypoint similarity, in [0,1]: the mean over the labelled
// points of exp(-d^2 / (2 * area * (2*sigma)^2)) with d the distance in pixels
// (YOLO26 specification, data and evaluation section 9.2). For an object without
// labelled points, d is the distance from its box widened by its own size on
// every side, as in COCO, so that detections around it are excused.
func OKS(points []geometry.Point, object KeypointObject, sigmas []float64) float64 {
	sum, count := 0.0, 0
	unlabelled := len(object.Labelled()) == 0
	for k, p := range points {
		var dx, dy float64
		switch {
		case unlabelled:
			b := object.Box
			dx = beyond(p.X, b.X1-b.Width(), b.X2+b.Width())
			dy = beyond(p.Y, b.Y1-b.Height(), b.Y2+b.Height())
		case object.Visibility[k] == 0:
			continue
		default:
			dx, dy = p.X-object.Points[k].X, p.Y-object.Points[k].Y
		}
		spread := 4 * sigmas[k] * sigmas[k]
		sum += math.Exp(-(dx*dx + dy*dy) / (2 * (object.Area + areaEpsilon) * spread))
		count++
	}
	if count == 0 {
		return 0
	}
	return sum / float64(count)
}

// beyond is how far a value lies outside an interval.
func beyond(value, low, high float64) float64 {
	return max(0, low-value) + max(0, value-high)
}
