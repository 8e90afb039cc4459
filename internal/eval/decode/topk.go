package decode

import (
	"container/heap"
	"math"
	"slices"
)

// TopK selects the best anchors of the one-to-one branch. There is no
// suppression and no filter of broken boxes (YOLO26 specification, data and
// evaluation section 8.1).
type TopK struct {
	// Limit is the number of anchors kept per image, at most all of them.
	Limit int
	// Threshold sets scores strictly below it to 0. Their rows stay, as a
	// fixed number of rows is what a deployed network returns.
	Threshold float64
}

// DefaultTopK keeps 300 anchors and every score.
func DefaultTopK() TopK { return TopK{Limit: 300} }

// TopK returns the selected boxes by descending score, equal scores by ascending
// anchor. An anchor gives one class only.
func (m Image[T]) TopK(options TopK) []Detection {
	picks := m.top(options)
	detections := make([]Detection, len(picks))
	for i, pick := range picks {
		detections[i] = Detection{Pick: pick, Box: m.box(pick.Anchor)}
	}
	return detections
}

// TopKRotated is TopK for rotated boxes. A branch without angles is an error.
func (m Image[T]) TopKRotated(options TopK) ([]Rotated, error) {
	if err := m.requireAngle(); err != nil {
		return nil, err
	}
	picks := m.top(options)
	detections := make([]Rotated, len(picks))
	for i, pick := range picks {
		detections[i] = Rotated{Pick: pick, Box: m.rotated(pick.Anchor)}
	}
	return detections, nil
}

func (m Image[T]) top(options TopK) []Pick {
	best := make(worstFirst, 0, min(max(options.Limit, 0), m.grid.Anchors()))
	for anchor := range m.grid.Anchors() {
		pick := m.pick(anchor)
		switch {
		case len(best) < cap(best):
			heap.Push(&best, pick)
		case len(best) > 0 && ranking(pick, best[0]) < 0:
			best[0] = pick
			heap.Fix(&best, 0)
		}
	}
	slices.SortFunc(best, ranking)
	for i := range best {
		if best[i].Score < options.Threshold {
			best[i].Score = 0
		}
	}
	return best
}

// pick finds the best class of an anchor, the first one among equal logits. A
// logit that is no number counts as minus infinity, so that it cannot win.
func (m Image[T]) pick(anchor int) Pick {
	class, best := 0, T(math.Inf(-1))
	for c, logit := range m.branch.Class[anchor*m.classes : (anchor+1)*m.classes] {
		if logit > best {
			class, best = c, logit
		}
	}
	return Pick{Anchor: anchor, Class: class, Score: sigmoid(float64(best))}
}

// worstFirst is a heap of picks with the last in ranking order on top.
type worstFirst []Pick

func (h worstFirst) Len() int           { return len(h) }
func (h worstFirst) Less(i, j int) bool { return ranking(h[i], h[j]) > 0 }
func (h worstFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push adds a Pick, for container/heap.
func (h *worstFirst) Push(pick any) { *h = append(*h, pick.(Pick)) }

// Pop removes the last element, for container/heap.
func (h *worstFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
