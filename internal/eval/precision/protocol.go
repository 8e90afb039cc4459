package precision

import "math"

// Area is a range of object areas in square pixels.
type Area int

// The ranges of COCO: small is below 32^2, medium up to 96^2 and large above.
const (
	AllAreas Area = iota
	Small
	Medium
	Large
)

const (
	smallLimit = 32 * 32
	largeLimit = 96 * 96
)

// holds reports whether an area belongs to the range.
func (a Area) holds(area float64) bool {
	switch a {
	case Small:
		return area < smallLimit
	case Medium:
		return area >= smallLimit && area <= largeLimit
	case Large:
		return area > largeLimit
	default:
		return true
	}
}

const areas = int(Large) + 1

// thresholds is the number of overlap thresholds 0.50, 0.55, ..., 0.95.
const thresholds = 10

// threshold returns the overlap threshold of an index in 0..9. The quotient is
// the float64 nearest to the decimal.
func threshold(index int) float64 { return float64(50+5*index) / 100 }

// Indices of the thresholds that have figures of their own.
const (
	at50 = 0
	at75 = 5
)

// Unlimited is a cap on detections that caps nothing.
const Unlimited = math.MaxInt

// Figure is one named result, in [0,1], or -1 without ground truth.
type Figure struct {
	Name  string
	Value float64
}
