package precision

import (
	"cmp"
	"slices"
)

// verdict is what matching said of one detection, under every setting at once.
type verdict struct {
	score float64
	// rank is the position among the detections that share a cap, from 0.
	rank int32
	// arrival numbers the verdicts of a tally in the order in which they came.
	arrival int32
	// hit and skip have one bit per setting: a true positive, and a detection
	// that counts as neither true nor false. Otherwise it is a false positive.
	hit, skip uint64
}

// tally collects the verdicts and the positives of one class.
type tally struct {
	verdicts []verdict
	// sorted tells that the verdicts are in the order of sort.
	sorted bool
	// positives counts the objects to be found, per area range.
	positives []int
}

// add takes the verdicts of one image.
func (t *tally) add(verdicts []verdict) {
	for _, v := range verdicts {
		v.arrival = int32(len(t.verdicts))
		t.verdicts = append(t.verdicts, v)
	}
	t.sorted = t.sorted && len(verdicts) == 0
}

// sort ranks the verdicts of all images so far by descending score, equal scores
// by arrival.
func (t *tally) sort() {
	if t.sorted {
		return
	}
	// The arrival makes the order total, which is faster than a stable sort.
	slices.SortFunc(t.verdicts, func(a, b verdict) int {
		if order := cmp.Compare(b.score, a.score); order != 0 {
			return order
		}
		return cmp.Compare(a.arrival, b.arrival)
	})
	t.sorted = true
}

// CurvePoint is one step of a precision-recall curve: the detections down to
// Score have this precision and recall.
type CurvePoint struct {
	Score, Precision, Recall float64
	// Hits is the number of true positives so far.
	Hits int
}

// curve is the raw precision-recall curve of one setting over the detections
// whose rank is below limit. The verdicts must be sorted.
func (t *tally) curve(bit, limit, positives int) []CurvePoint {
	points := make([]CurvePoint, 0, len(t.verdicts))
	hits := 0
	for _, v := range t.verdicts {
		if int(v.rank) >= limit || v.skip>>bit&1 != 0 {
			continue
		}
		hits += int(v.hit >> bit & 1)
		points = append(points, CurvePoint{
			Score:     v.score,
			Precision: float64(hits) / float64(len(points)+1),
			Recall:    float64(hits) / float64(positives),
			Hits:      hits,
		})
	}
	return points
}

// recallSteps is the number of steps of the recall grid 0, 1/100, ..., 1.
const recallSteps = 100

// averagePrecision is the mean of the precision, made monotone, at the 101
// recalls k/100. Whether a recall is reached is decided in whole numbers,
// because k/100 is not a binary fraction (YOLO26 specification, data and
// evaluation section 9.1).
func averagePrecision(points []CurvePoint, positives int) float64 {
	best := make([]float64, len(points)+1)
	for i := len(points) - 1; i >= 0; i-- {
		best[i] = max(points[i].Precision, best[i+1])
	}
	sum, i := 0.0, 0
	for k := range recallSteps + 1 {
		for i < len(points) && points[i].Hits*recallSteps < k*positives {
			i++
		}
		sum += best[i]
	}
	return sum / (recallSteps + 1)
}

// recall is the share of the positives found by the whole curve.
func recall(points []CurvePoint, positives int) float64 {
	if len(points) == 0 {
		return 0
	}
	return float64(points[len(points)-1].Hits) / float64(positives)
}

// mean averages values in order, -1 when there are none.
func mean(values []float64) float64 {
	if len(values) == 0 {
		return -1
	}
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum / float64(len(values))
}
