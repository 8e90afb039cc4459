package precision

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/overlap"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// RotatedObject is an annotated rotated box.
type RotatedObject struct {
	Class int
	Box   geometry.RotatedBox
	// Difficult objects need not be found: a detection that only overlaps them
	// is discarded.
	Difficult bool
}

// Oriented is the mean average precision of rotated boxes under their exact
// overlap, with the recall grid of COCO (YOLO26 specification, data and
// evaluation section 9.3).
type Oriented struct {
	classes []tally
	limit   int
}

// NewOriented returns an evaluation of the given number of classes that reads
// the limit best detections of every image, counted over all classes: 300 for
// an image that went through the network, Unlimited for one merged from tiles.
// Neither number may be below 1.
func NewOriented(classes, limit int) (*Oriented, error) {
	if limit < 1 {
		return nil, fmt.Errorf("a limit of %d detections; give at least 1", limit)
	}
	tallies, err := newTallies(classes, 1)
	if err != nil {
		return nil, err
	}
	return &Oriented{classes: tallies, limit: limit}, nil
}

// Add evaluates one image. A class outside the evaluation and a score that is no
// number are errors, and leave the evaluation as it was.
func (e *Oriented) Add(detections []decode.Rotated, objects []RotatedObject) error {
	rows := make([]Detection, len(detections))
	for i, d := range detections {
		rows[i] = Detection{Class: d.Class, Score: d.Score}
	}
	plain := make([]Object, len(objects))
	for i, o := range objects {
		plain[i] = Object{Class: o.Class, Ignore: o.Difficult}
	}
	if err := check(rows, plain, len(e.classes)); err != nil {
		return err
	}
	byClass := make([][]int, len(e.classes))
	for _, d := range ranked(rows, e.limit, func(Detection) bool { return true }) {
		byClass[rows[d].Class] = append(byClass[rows[d].Class], d)
	}
	for class := range e.classes {
		columns := where(plain, func(o Object) bool { return o.Class == class })
		matrix := newOverlaps(byClass[class], columns, func(d, o int) float64 {
			return overlap.RotatedIoU(detections[d].Box, objects[o].Box, threshold(at50))
		})
		difficult := make([]bool, len(columns))
		for column, o := range columns {
			difficult[column] = plain[o].Ignore
			if !difficult[column] {
				e.classes[class].positives[0]++
			}
		}
		verdicts := make([]verdict, len(byClass[class]))
		for row, d := range byClass[class] {
			verdicts[row].score = rows[d].Score
		}
		for index := range thresholds {
			matchOriented(matrix, difficult, index, verdicts)
		}
		e.classes[class].add(verdicts)
	}
	return nil
}

// matchOriented gives every detection, best score first, the free object that is
// not difficult and that it overlaps most. Without one it is discarded when it
// overlaps a difficult object, which stays free for others.
func matchOriented(matrix overlaps, difficult []bool, index int, verdicts []verdict) {
	taken := make([]bool, len(difficult))
	for row := range verdicts {
		best, excused := -1, false
		for column := range difficult {
			value := matrix.at(row, column)
			switch {
			case value < threshold(index):
			case difficult[column]:
				excused = true
			case !taken[column] && (best < 0 || value > matrix.at(row, best)):
				best = column
			}
		}
		switch {
		case best >= 0:
			taken[best] = true
			verdicts[row].hit |= 1 << index
		case excused:
			verdicts[row].skip |= 1 << index
		}
	}
}

// Precision is the mean average precision over the ten thresholds and the
// classes with an object that is not difficult.
func (e *Oriented) Precision() float64 {
	var values []float64
	for index := range thresholds {
		values = append(values, e.over(index, averagePrecision)...)
	}
	return mean(values)
}

// Precision50 is the mean average precision at an overlap of 0.50.
func (e *Oriented) Precision50() float64 { return mean(e.over(at50, averagePrecision)) }

// Precision75 is the mean average precision at an overlap of 0.75.
func (e *Oriented) Precision75() float64 { return mean(e.over(at75, averagePrecision)) }

// Recall is the attained recall, averaged like Precision.
func (e *Oriented) Recall() float64 {
	var values []float64
	for index := range thresholds {
		values = append(values, e.over(index, recall)...)
	}
	return mean(values)
}

// over evaluates a figure for every class with positives, in ascending order.
func (e *Oriented) over(index int, figure func([]CurvePoint, int) float64) []float64 {
	var values []float64
	for class := range e.classes {
		t := &e.classes[class]
		if positives := t.positives[0]; positives > 0 {
			t.sort()
			values = append(values, figure(t.curve(index, Unlimited, positives), positives))
		}
	}
	return values
}

// Curve is the precision-recall curve of a class at the threshold
// 0.50 + 0.05*index, index in 0..9. It is empty without ground truth.
func (e *Oriented) Curve(class, index int) ([]CurvePoint, error) {
	return curveOf(e.classes, class, index, index, Unlimited)
}

// Figures are map, map_50, map_75 and mar followed by the limit, as in mar_300;
// plain mar without one.
func (e *Oriented) Figures() []Figure {
	recallName := "mar"
	if e.limit != Unlimited {
		recallName = fmt.Sprintf("mar_%d", e.limit)
	}
	return []Figure{
		{"map", e.Precision()}, {"map_50", e.Precision50()}, {"map_75", e.Precision75()}, {recallName, e.Recall()},
	}
}
