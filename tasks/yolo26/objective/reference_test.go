package objective

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// reference is section 1 taken literally on dense matrices, object by anchor.
func (s scene) reference(assigner Assigner, image int) (objects []int, quality []float64) {
	anchors, instances := s.grid.Anchors(), s.truth.Instances
	metric, overlap, chosen := matrix(instances, anchors), matrix(instances, anchors), matrix(instances, anchors)
	for n := range instances {
		row := image*instances + n
		ranked := make([]float64, anchors)
		for a := range anchors {
			flat := image*anchors + a
			overlap[n][a] = overlapOf(s.truth.Boxes[row], DecodeBox(s.grid, a, s.output.Box[flat*4:]), assigner.OverlapEpsilon)
			ranked[a] = -1
			if s.inside(assigner, row, a) {
				p := 1 / (1 + math.Exp(-s.output.Class[flat*s.classes+s.truth.Labels[row]]))
				metric[n][a] = p * math.Pow(overlap[n][a], 6)
				ranked[a] = metric[n][a]
			}
		}
		for range min(assigner.TopK, anchors) {
			if best := argmax(ranked); ranked[best] >= 0 {
				chosen[n][best], ranked[best] = 1, -2
			}
		}
	}
	s.settle(assigner, metric, chosen)
	objects, quality = make([]int, anchors), make([]float64, anchors)
	for a := range anchors {
		objects[a] = -1
		for n := range instances {
			if chosen[n][a] == 0 {
				continue
			}
			topMetric, topOverlap := 0.0, 0.0
			for i := range anchors {
				topMetric = max(topMetric, metric[n][i]*chosen[n][i])
				topOverlap = max(topOverlap, overlap[n][i]*chosen[n][i])
			}
			objects[a], quality[a] = n, metric[n][a]*topOverlap/max(topMetric, 0x1p-1022)
		}
	}
	return objects, quality
}

// settle is the conflict resolution and the unique choice of the reference.
func (s scene) settle(assigner Assigner, metric, chosen [][]float64) {
	for a := range s.grid.Anchors() {
		contest := make([]float64, len(chosen))
		for n := range chosen {
			contest[n] = metric[n][a]*chosen[n][a] - (1 - chosen[n][a])
		}
		for n := range chosen {
			if n != argmax(contest) {
				chosen[n][a] = 0
			}
		}
	}
	for n := range chosen {
		contest := make([]float64, s.grid.Anchors())
		for a := range contest {
			contest[a] = metric[n][a]*chosen[n][a] - (1 - chosen[n][a])
		}
		for a := range contest {
			if assigner.Unique && a != argmax(contest) {
				chosen[n][a] = 0
			}
		}
	}
}

func (s scene) inside(assigner Assigner, row, anchor int) bool {
	x, y := s.grid.X[anchor], s.grid.Y[anchor]
	if !s.truth.Mask[row] {
		return false
	}
	if s.truth.Rotated != nil {
		return assigner.rotatedSurrogate(s.truth.Rotated[row]).Contains(x, y)
	}
	b := assigner.surrogate(s.truth.Boxes[row])
	return b.X1 <= x && x <= b.X2 && b.Y1 <= y && y <= b.Y2
}

func matrix(rows, columns int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, columns)
	}
	return m
}

func argmax(values []float64) int {
	best := 0
	for i, value := range values {
		if value > values[best] {
			best = i
		}
	}
	return best
}

func TestAssignmentEqualsTheDenseReference(t *testing.T) {
	positives := 0
	for seed := range uint64(12) {
		for _, oriented := range []bool{false, true} {
			s := randomScene(t, seed, canvas(t, 64, 96), 64, 3, 12, 3, oriented)
			counts := [2]int{}
			for i, assigner := range []Assigner{OneToManyAssigner(), OneToOneAssigner()} {
				assignment := s.assign(assigner)
				for image := range 3 {
					objects, quality := s.dense(assignment, image)
					wantObjects, wantQuality := s.reference(assigner, image)
					require.Equal(t, wantObjects, objects)
					require.InDeltaSlice(t, wantQuality, quality, 1e-12)
				}
				counts[i] = assignment.Count
			}
			require.Equal(t, counts[0] > 0, counts[1] > 0, "both branches have positives or neither")
			positives += counts[0]
		}
	}
	require.Greater(t, positives, 500)
}
