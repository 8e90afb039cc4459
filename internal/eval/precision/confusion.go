package precision

import (
	"cmp"
	"fmt"
	"slices"
)

// Confusion counts which class was detected for which object. Class C, one past
// the last, is the background: objects that were missed and detections of
// nothing.
type Confusion struct {
	classes int
	// score is the lowest score of a detection that counts, overlap the lowest
	// overlap of a pair.
	score, overlap float64
	counts         []int
}

// NewConfusion counts detections from the given score, paired with objects from
// the given overlap. It needs at least one class and both bounds in (0,1].
func NewConfusion(classes int, score, overlap float64) (*Confusion, error) {
	if classes < 1 {
		return nil, fmt.Errorf("a confusion of %d classes; give at least 1", classes)
	}
	if !(score > 0 && score <= 1 && overlap > 0 && overlap <= 1) {
		return nil, fmt.Errorf("confusion from score %v and overlap %v; give both in (0,1]", score, overlap)
	}
	return &Confusion{classes, score, overlap, make([]int, (classes+1)*(classes+1))}, nil
}

// pair is a detection and an object that overlap.
type pair struct {
	detection, object int
	overlap           float64
}

// Add counts one image. Pairs are made whatever the classes, the largest overlap
// first, then the higher score, then in the order given; similarity measures
// the overlap of detection d with object o, in [0,1]. An ignored object or a
// crowd is no object to be found, but excuses every detection on it that has no
// pair. A class outside the confusion is an error.
func (c *Confusion) Add(detections []Detection, objects []Object, similarity func(d, o int) float64) error {
	if err := check(detections, objects, c.classes); err != nil {
		return err
	}
	pairs, excused := c.pairs(detections, objects, similarity)
	found := make([]bool, len(objects))
	used := make([]bool, len(detections))
	for _, p := range pairs {
		if !used[p.detection] && !found[p.object] {
			used[p.detection], found[p.object] = true, true
			c.count(detections[p.detection].Class, objects[p.object].Class)
		}
	}
	for d, detection := range detections {
		if !used[d] && !excused[d] {
			c.count(detection.Class, c.classes)
		}
	}
	for o, object := range objects {
		if !found[o] && !object.Crowd && !object.Ignore {
			c.count(c.classes, object.Class)
		}
	}
	return nil
}

// pairs are the possible pairs of an image in the order in which they are made.
// excused tells which detections count for nothing when they have no pair.
func (c *Confusion) pairs(detections []Detection, objects []Object, similarity func(d, o int) float64) (pairs []pair, excused []bool) {
	excused = make([]bool, len(detections))
	for d, detection := range detections {
		if detection.Score < c.score {
			excused[d] = true
			continue
		}
		for o, object := range objects {
			overlap := similarity(d, o)
			switch {
			case overlap < c.overlap:
			case object.Crowd || object.Ignore:
				excused[d] = true
			default:
				pairs = append(pairs, pair{d, o, overlap})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.overlap, a.overlap), cmp.Compare(detections[b.detection].Score, detections[a.detection].Score))
	})
	return pairs, excused
}

func (c *Confusion) count(detected, annotated int) { c.counts[detected*(c.classes+1)+annotated]++ }

// Counts is a copy of the counts, one row per detected class and one column per
// annotated class, the background last in both. The last element is 0.
func (c *Confusion) Counts() [][]int {
	side := c.classes + 1
	rows := make([][]int, side)
	for i := range rows {
		rows[i] = slices.Clone(c.counts[i*side : (i+1)*side])
	}
	return rows
}
