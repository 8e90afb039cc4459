package objective

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Assigner decides which anchors answer for which object: task-aligned
// assignment (TOOD, arXiv:2108.07755) on small-target surrogates (YOLO26,
// arXiv:2606.03748, Eq. 4-6), either many anchors per object or one (dual
// assignment, YOLOv10, arXiv:2405.14458). The stages and their order are those
// of the YOLO26 specification, objective section 1.
type Assigner struct {
	// TopK anchors are taken per object, fewer where it has fewer candidates.
	TopK int
	// Unique keeps one anchor per object in the end.
	Unique bool
	// ClassExponent and OverlapExponent form the metric
	// probability^ClassExponent * overlap^OverlapExponent.
	ClassExponent, OverlapExponent float64
	// OverlapEpsilon is added to the union in the overlap.
	OverlapEpsilon float64
	// A side shorter than SmallSide pixels becomes InflatedSide in the surrogate.
	SmallSide, InflatedSide float64
}

// OneToManyAssigner returns the assigner of the one-to-many branch.
func OneToManyAssigner() Assigner {
	return Assigner{
		TopK:            10,
		ClassExponent:   1,
		OverlapExponent: 6,
		OverlapEpsilon:  1e-9,
		SmallSide:       8,
		InflatedSide:    16,
	}
}

// OneToOneAssigner returns the assigner of the one-to-one branch.
func OneToOneAssigner() Assigner {
	assigner := OneToManyAssigner()
	assigner.TopK, assigner.Unique = 7, true
	return assigner
}

// Validate reports a setting outside its range.
func (a Assigner) Validate() error {
	if a.TopK < 1 {
		return fmt.Errorf("top-k of %d anchors per object; give at least 1", a.TopK)
	}
	for _, setting := range []struct {
		name  string
		value float64
		zero  bool
	}{
		{"class exponent", a.ClassExponent, true},
		{"overlap exponent", a.OverlapExponent, true},
		{"overlap epsilon", a.OverlapEpsilon, false},
		{"small side", a.SmallSide, false},
		{"inflated side", a.InflatedSide, false},
	} {
		if !Finite([]float64{setting.value}) || setting.value < 0 || setting.value == 0 && !setting.zero {
			return fmt.Errorf("%s of %v; give a finite positive number", setting.name, setting.value)
		}
	}
	if a.InflatedSide < a.SmallSide {
		return fmt.Errorf("inflated side of %v px is below the small side of %v px; give at least that", a.InflatedSide, a.SmallSide)
	}
	return nil
}

// Assign returns the assignment of one branch. The assigner must be valid, the
// grid that of the outputs, which hold B*A*C logits and B*A*4 box offsets, and
// the labels of truth in 0..classes-1. With truth.Rotated the candidates are
// those of the rotated boxes; overlaps stay those of the axis-aligned boxes.
// Among equal metrics the lowest anchor is taken first.
func Assign[T device.Float](assigner Assigner, grid *Grid, classes int, output Dense[T], truth *GroundTruth) *Assignment {
	images := make([][]Positive, truth.Images)
	Each(truth.Images, func(image int) {
		view := imageView[T]{
			grid:    grid,
			classes: classes,
			logits:  output.Class[image*grid.Anchors()*classes:],
			ltrb:    output.Box[image*grid.Anchors()*4:],
		}
		var chosen []choice
		for n := range truth.Instances {
			row := image*truth.Instances + n
			if truth.Mask[row] {
				chosen = append(chosen, topAnchors(assigner, view, truth, row)...)
			}
		}
		chosen = resolveConflicts(chosen)
		if assigner.Unique {
			chosen = keepBest(chosen, truth.Instances)
		}
		images[image] = weigh(chosen, truth, image)
	})
	return newAssignment(images)
}

// choice is one anchor taken by one object, with the metric T and the overlap U
// of the pair.
type choice struct {
	anchor, object  int
	metric, overlap float64
}

// imageView reads the outputs of one image.
type imageView[T device.Float] struct {
	grid    *Grid
	classes int
	logits  []T
	ltrb    []T
}

// topAnchors returns the candidates of an object with the largest metrics, at
// most TopK. An object always gets min(TopK, candidates) anchors, also when
// every metric is 0.
func topAnchors[T device.Float](assigner Assigner, view imageView[T], truth *GroundTruth, row int) []choice {
	best := make([]choice, 0, min(assigner.TopK, view.grid.Anchors())+1)
	box, label := truth.Boxes[row], truth.Labels[row]
	assigner.candidates(view.grid, truth, row, func(anchor int) {
		overlap := overlapOf(box, DecodeBox(view.grid, anchor, view.ltrb[anchor*4:]), assigner.OverlapEpsilon)
		probability := logistic(float64(view.logits[anchor*view.classes+label]))
		entry := choice{
			anchor:  anchor,
			object:  row % truth.Instances,
			metric:  math.Pow(probability, assigner.ClassExponent) * math.Pow(overlap, assigner.OverlapExponent),
			overlap: overlap,
		}
		// Anchors come in ascending order, so an equal metric ranks behind
		// those that are there. cmp.Compare puts a metric that is not a number
		// last, which keeps the order total.
		place, _ := slices.BinarySearchFunc(best, entry, func(have, want choice) int {
			if cmp.Compare(have.metric, want.metric) >= 0 {
				return -1
			}
			return 1
		})
		if place < assigner.TopK {
			best = slices.Insert(best, place, entry)
			best = best[:min(len(best), assigner.TopK)]
		}
	})
	return best
}

// resolveConflicts leaves an anchor taken by several objects to the one with
// the largest metric, among equals the first object. The result ascends by
// anchor. Objects that lose an anchor get no other for it.
func resolveConflicts(chosen []choice) []choice {
	slices.SortFunc(chosen, func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.anchor, b.anchor), cmp.Compare(b.metric, a.metric), cmp.Compare(a.object, b.object))
	})
	return slices.CompactFunc(chosen, func(a, b choice) bool { return a.anchor == b.anchor })
}

// keepBest leaves every object the anchor with the largest metric, among equals
// the lowest. chosen ascends by anchor, and so does the result.
func keepBest(chosen []choice, instances int) []choice {
	best := make([]int, instances)
	for i := range best {
		best[i] = -1
	}
	for i, entry := range chosen {
		have := best[entry.object]
		if have < 0 || cmp.Compare(entry.metric, chosen[have].metric) > 0 {
			best[entry.object] = i
		}
	}
	kept := chosen[:0]
	for i, entry := range chosen {
		if best[entry.object] == i {
			kept = append(kept, entry)
		}
	}
	return kept
}

// smallestNormal is the smallest normal float64. The floor is this low on
// purpose: the metric scales with the sixth power of the overlap, and a larger
// one would erase weak positives.
const smallestNormal = 0x1p-1022

// weigh turns choices into positives with quality
// q = T * max(U) / max(max(T), smallest normal), the maxima over the anchors
// that the object kept.
func weigh(chosen []choice, truth *GroundTruth, image int) []Positive {
	metric, overlap := make([]float64, truth.Instances), make([]float64, truth.Instances)
	for _, entry := range chosen {
		metric[entry.object] = max(metric[entry.object], entry.metric)
		overlap[entry.object] = max(overlap[entry.object], entry.overlap)
	}
	positives := make([]Positive, len(chosen))
	for i, entry := range chosen {
		positives[i] = Positive{
			Anchor:  entry.anchor,
			Object:  entry.object,
			Label:   truth.Labels[image*truth.Instances+entry.object],
			Quality: entry.metric * overlap[entry.object] / max(metric[entry.object], smallestNormal),
		}
	}
	return positives
}
