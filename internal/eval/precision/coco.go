package precision

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Detection is what COCO matching knows of a detection besides its overlaps.
type Detection struct {
	Class int
	Score float64
	// Area in square pixels decides whether an unmatched detection belongs to
	// an area range.
	Area float64
}

// Object is what COCO matching knows of an annotated object besides overlaps.
type Object struct {
	Class int
	// Area in square pixels, as annotated.
	Area float64
	// Crowd is a region that any number of detections may match. Both a crowd
	// and an ignored object only excuse the detections that they match.
	Crowd, Ignore bool
}

// COCO is the COCO evaluation of boxes, masks or keypoints, which differ in the
// measure of overlap and the cap on detections.
type COCO struct {
	classes []tally
	limit   int
}

// NewCOCO returns an evaluation of the given number of classes that reads the
// limit best detections per image and class: 100 for boxes and masks, 20 for
// keypoints. Neither number may be below 1.
func NewCOCO(classes, limit int) (*COCO, error) {
	if limit < 1 {
		return nil, fmt.Errorf("a limit of %d detections; give at least 1", limit)
	}
	tallies, err := newTallies(classes, areas)
	if err != nil {
		return nil, err
	}
	return &COCO{classes: tallies, limit: limit}, nil
}

func newTallies(classes, ranges int) ([]tally, error) {
	if classes < 1 {
		return nil, fmt.Errorf("an evaluation of %d classes; give at least 1", classes)
	}
	tallies := make([]tally, classes)
	for class := range tallies {
		tallies[class].positives = make([]int, ranges)
	}
	return tallies, nil
}

// Add evaluates one image. similarity measures the overlap of detection d with
// object o, in [0,1]; it is called for pairs of one class only. A class outside
// the evaluation and a score that is no number are errors, and leave the
// evaluation as it was.
func (e *COCO) Add(detections []Detection, objects []Object, similarity func(d, o int) float64) error {
	if err := check(detections, objects, len(e.classes)); err != nil {
		return err
	}
	for class := range e.classes {
		m := cocoMatch{detections: detections, objects: objects}
		m.rows = ranked(detections, e.limit, func(d Detection) bool { return d.Class == class })
		m.columns = where(objects, func(o Object) bool { return o.Class == class })
		if len(m.rows) == 0 && len(m.columns) == 0 {
			continue
		}
		m.overlaps = newOverlaps(m.rows, m.columns, similarity)
		m.tally(&e.classes[class])
	}
	return nil
}

// check reports the first class outside the evaluation, or a score that is no
// number.
func check(detections []Detection, objects []Object, classes int) error {
	outside := func(class int) bool { return class < 0 || class >= classes }
	for i, d := range detections {
		if outside(d.Class) {
			return fmt.Errorf("detection %d: class %d is outside 0..%d; evaluate with the classes of the network", i, d.Class, classes-1)
		}
		if math.IsNaN(d.Score) {
			return fmt.Errorf("detection %d: its score is not a number; look for the cause in the network's outputs", i)
		}
	}
	for i, o := range objects {
		if outside(o.Class) {
			return fmt.Errorf("object %d: class %d is outside 0..%d; evaluate with the classes of the network", i, o.Class, classes-1)
		}
	}
	return nil
}

// where lists the positions that satisfy a condition.
func where[E any](values []E, holds func(E) bool) []int {
	var list []int
	for i, value := range values {
		if holds(value) {
			list = append(list, i)
		}
	}
	return list
}

// ranked lists the limit best detections that satisfy a condition, equal scores
// in the order given.
func ranked(detections []Detection, limit int, holds func(Detection) bool) []int {
	list := where(detections, holds)
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(detections[b].Score, detections[a].Score) })
	return list[:min(limit, len(list))]
}

// overlaps holds the similarity of every detection with every object of a class.
type overlaps struct {
	columns int
	values  []float64
}

func newOverlaps(rows, columns []int, similarity func(d, o int) float64) overlaps {
	matrix := overlaps{columns: len(columns), values: make([]float64, 0, len(rows)*len(columns))}
	for _, d := range rows {
		for _, o := range columns {
			matrix.values = append(matrix.values, similarity(d, o))
		}
	}
	return matrix
}

func (m overlaps) at(row, column int) float64 { return m.values[row*m.columns+column] }

// cocoMatch matches the detections and objects of one class in one image.
type cocoMatch struct {
	detections []Detection
	objects    []Object
	// rows are detections by descending score, columns objects as given.
	rows, columns []int
	overlaps      overlaps
}

// tally adds the verdicts on all detections and the positives.
func (m cocoMatch) tally(t *tally) {
	verdicts := make([]verdict, len(m.rows))
	for rank, d := range m.rows {
		verdicts[rank] = verdict{score: m.detections[d].Score, rank: int32(rank)}
	}
	for area := range Area(areas) {
		ignored := make([]bool, len(m.columns))
		for column, o := range m.columns {
			object := m.objects[o]
			ignored[column] = object.Crowd || object.Ignore || !area.holds(object.Area)
			if !ignored[column] {
				t.positives[area]++
			}
		}
		for index := range thresholds {
			m.match(area, index, ignored, verdicts)
		}
	}
	t.add(verdicts)
}

// match runs the greedy matching of one area range and threshold.
func (m cocoMatch) match(area Area, index int, ignored []bool, verdicts []verdict) {
	bit := cocoBit(area, index)
	taken := make([]bool, len(m.columns))
	for row, d := range m.rows {
		column := m.best(row, threshold(index), taken, ignored, false)
		if column < 0 {
			column = m.best(row, threshold(index), taken, ignored, true)
		}
		switch {
		case column >= 0 && ignored[column]:
			taken[column] = true
			verdicts[row].skip |= bit
		case column >= 0:
			taken[column] = true
			verdicts[row].hit |= bit
		case !area.holds(m.detections[d].Area):
			verdicts[row].skip |= bit
		}
	}
}

// best finds the object that a detection overlaps most, at least by the
// threshold, among those that are ignored or those that are not. A taken object
// is out unless it is a crowd; of equal overlaps the later wins, as in COCO.
func (m cocoMatch) best(row int, threshold float64, taken, ignored []bool, among bool) int {
	column := -1
	for c, o := range m.columns {
		if ignored[c] != among || taken[c] && !m.objects[o].Crowd {
			continue
		}
		if overlap := m.overlaps.at(row, c); overlap >= threshold {
			column, threshold = c, overlap
		}
	}
	return column
}

// cocoBit is the bit of a setting in a verdict: 4 ranges of 10 thresholds.
func cocoBit(area Area, index int) uint64 { return 1 << cocoSetting(area, index) }

func cocoSetting(area Area, index int) int { return int(area)*thresholds + index }
