package precision_test

import (
	"sort"

	"github.com/reprise-ml/reprise/internal/eval/precision"
)

// scene is one image of the slow reference, with its overlaps as numbers.
type scene struct {
	detections []precision.Detection
	objects    []precision.Object
	overlaps   [][]float64
}

// judged is a detection after matching by the reference.
type judged struct {
	score        float64
	hit, ignored bool
}

// referenceMatch is the procedure of the COCO evaluator for one image, class,
// area range and threshold: objects that count come first, and the walk over
// them ends when the ignored ones begin and a match is at hand.
func referenceMatch(s scene, class, limit int, holds func(float64) bool, threshold float64) (rows []judged, positives int) {
	outside := func(area float64) bool { return !holds(area) }
	var order []int
	var ignored []bool
	for _, want := range []bool{false, true} {
		for o, object := range s.objects {
			if ignore := object.Crowd || object.Ignore || outside(object.Area); object.Class == class && ignore == want {
				order, ignored = append(order, o), append(ignored, ignore)
				if !ignore {
					positives++
				}
			}
		}
	}
	var detections []int
	for d := range s.detections {
		if s.detections[d].Class == class {
			detections = append(detections, d)
		}
	}
	sort.SliceStable(detections, func(i, j int) bool {
		return s.detections[detections[i]].Score > s.detections[detections[j]].Score
	})
	matched := map[int]bool{}
	for _, d := range detections[:min(limit, len(detections))] {
		best, match := threshold, -1
		for i, o := range order {
			if matched[i] && !s.objects[o].Crowd {
				continue
			}
			if match >= 0 && !ignored[match] && ignored[i] {
				break
			}
			if s.overlaps[d][o] < best {
				continue
			}
			best, match = s.overlaps[d][o], i
		}
		row := judged{score: s.detections[d].Score, hit: match >= 0}
		if match >= 0 {
			matched[match] = true
			row.ignored = ignored[match]
		} else {
			row.ignored = outside(s.detections[d].Area)
		}
		rows = append(rows, row)
	}
	return rows, positives
}

// referenceFigures returns average precision and recall over scenes, classes and
// the given thresholds.
func referenceFigures(scenes []scene, classes, limit int, holds func(float64) bool, thresholds []float64) (ap, ar float64) {
	count := 0.0
	for class := range classes {
		for _, threshold := range thresholds {
			var rows []judged
			positives := 0
			for _, s := range scenes {
				more, found := referenceMatch(s, class, limit, holds, threshold)
				rows, positives = append(rows, more...), positives+found
			}
			if positives == 0 {
				continue
			}
			sort.SliceStable(rows, func(i, j int) bool { return rows[i].score > rows[j].score })
			one, all := referenceAverage(rows, positives)
			ap, ar, count = ap+one, ar+all, count+1
		}
	}
	if count == 0 {
		return -1, -1
	}
	return ap / count, ar / count
}

// referenceAverage evaluates the definition recall by recall.
func referenceAverage(rows []judged, positives int) (ap, ar float64) {
	for k := range 101 {
		best, hits, misses := 0.0, 0, 0
		for _, row := range rows {
			switch {
			case row.ignored:
				continue
			case row.hit:
				hits++
			default:
				misses++
			}
			if hits*100 >= k*positives {
				best = max(best, float64(hits)/float64(hits+misses))
			}
		}
		ap += best / 101
		ar = float64(hits) / float64(positives)
	}
	return ap, ar
}
