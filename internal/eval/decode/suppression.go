package decode

import (
	"math"

	"github.com/reprise-ml/reprise/internal/eval/overlap"
)

// Suppression is greedy suppression of overlapping detections of one class, the
// way to read the one-to-many branch (YOLO26 specification, data and evaluation
// sections 8.2 and 8.3).
type Suppression struct {
	// Score is the lowest score of a candidate.
	Score float64
	// IoU is the overlap with a better detection above which, strictly, a
	// candidate is suppressed.
	IoU float64
	// Limit is the largest number of detections kept per image.
	Limit int
}

// DefaultSuppression keeps scores from 0.001, suppresses above an IoU of 0.7 and
// keeps 300 detections.
func DefaultSuppression() Suppression { return Suppression{Score: 0.001, IoU: 0.7, Limit: 300} }

// Suppressed returns the boxes of an image that survive suppression, by
// descending score, equal scores by ascending anchor.
func (m Image[T]) Suppressed(options Suppression) []Detection {
	var candidates []Detection
	for anchor := range m.grid.Anchors() {
		if pick := m.pick(anchor); pick.Score >= options.Score {
			candidates = append(candidates, Detection{Pick: pick, Box: m.box(anchor)})
		}
	}
	return options.Boxes(candidates)
}

// SuppressedRotated is Suppressed for rotated boxes. A branch without angles is
// an error.
func (m Image[T]) SuppressedRotated(options Suppression) ([]Rotated, error) {
	if err := m.requireAngle(); err != nil {
		return nil, err
	}
	var candidates []Rotated
	for anchor := range m.grid.Anchors() {
		if pick := m.pick(anchor); pick.Score >= options.Score {
			candidates = append(candidates, Rotated{Pick: pick, Box: m.rotated(anchor)})
		}
	}
	return options.Rotated(candidates), nil
}

// Boxes suppresses detections given in any order. Boxes that are not finite or
// whose sides are not both positive are dropped first.
func (s Suppression) Boxes(detections []Detection) []Detection {
	var candidates []Detection
	for _, d := range detections {
		finite := isFinite(d.Box.X1, d.Box.Y1, d.Box.X2, d.Box.Y2)
		if d.Score >= s.Score && finite && d.Box.X2 > d.Box.X1 && d.Box.Y2 > d.Box.Y1 {
			candidates = append(candidates, d)
		}
	}
	return suppress(candidates, s.Limit, func(d Detection) Pick { return d.Pick }, func(a, b Detection) bool {
		return overlap.IoU(a.Box, b.Box) > s.IoU
	})
}

// Rotated suppresses rotated detections given in any order, by their exact
// overlap. Boxes that are not finite are dropped first; those whose extents are
// not positive stay and overlap nothing.
func (s Suppression) Rotated(detections []Rotated) []Rotated {
	var candidates []Rotated
	for _, d := range detections {
		if d.Score >= s.Score && isFinite(d.Box.CenterX, d.Box.CenterY, d.Box.Width, d.Box.Height, d.Box.Angle) {
			candidates = append(candidates, d)
		}
	}
	return suppress(candidates, s.Limit, func(d Rotated) Pick { return d.Pick }, func(a, b Rotated) bool {
		return overlap.RotatedIoU(a.Box, b.Box, s.IoU) > s.IoU
	})
}

// suppress keeps, best first, every candidate that no kept one of its class
// covers, until limit are kept.
func suppress[D any](candidates []D, limit int, pick func(D) Pick, covers func(kept, candidate D) bool) []D {
	sortPicks(candidates, pick)
	var kept []D
	byClass := map[int][]D{}
next:
	for _, candidate := range candidates {
		if len(kept) >= limit {
			break
		}
		class := pick(candidate).Class
		for _, better := range byClass[class] {
			if covers(better, candidate) {
				continue next
			}
		}
		byClass[class] = append(byClass[class], candidate)
		kept = append(kept, candidate)
	}
	return kept
}

// isFinite reports whether all values are finite numbers.
func isFinite(values ...float64) bool {
	for _, value := range values {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return false
		}
	}
	return true
}
