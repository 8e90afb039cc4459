package objective

import (
	"testing"

	"github.com/stretchr/testify/require"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// The example of section 2.8.
func TestSemanticExample(t *testing.T) {
	logits := []float64{0.2, -1, 0.5, 1.5, -2, -3, -1, -0.5}
	targets := []float64{1, 0, 1, 1, 0, 0, 0, 0}
	value, slopes := SemanticLoss(logits, targets, 4)
	near(t, 0.645130849, value)
	for i, want := range []float64{
		-0.0800851831, 0.0461145903, -0.0698031104, -0.0371530909,
		0.0308695976, 0.0127994785, 0.063521806, 0.0829359947,
	} {
		near(t, want, slopes[i])
	}
	// The parts: entropy, and dice of each class and of both.
	near(t, 0.318718107, yolo26.BinaryCrossEntropy(logits, targets, make([]float64, 8))/8)
	for _, part := range []struct {
		from, to int
		dice     float64
	}{{0, 4, 0.204363733}, {4, 8, 0.448461753}, {0, 8, 0.326412743}} {
		z, y := logits[part.from:part.to], targets[part.from:part.to]
		value, _ := SemanticLoss(z, y, 4)
		near(t, part.dice, value-yolo26.BinaryCrossEntropy(z, y, make([]float64, len(z)))/float64(len(z)))
	}
}

// Field cases YO-04 and YO-05: the map of an empty image is all 0, and masks
// stay with their image when others before it are empty. A cell is set when any
// of its four mask cells is, and instances of one class unite.
func TestClassMaps(t *testing.T) {
	size := Size{Batch: 3, Height: 32, Width: 32, Classes: 2}
	mask := make([]bool, 64)
	mask[0], mask[3*8+5] = true, true
	other := make([]bool, 64)
	other[7*8+7] = true
	box := yolo26.Box{X1: 0, Y1: 0, X2: 32, Y2: 32}
	targets := []Target{{}, {}, {Labels: []int{1, 1}, Boxes: []yolo26.Box{box, box}, Masks: [][]bool{mask, other}}}
	s, err := newStep(newObjective(t), randomOutputs[float32](1, size), size, targets, 0.5)
	require.NoError(t, err)
	want := make([]float64, 3*2*16)
	last := want[(2*2+1)*16:]
	last[0], last[1*4+2], last[3*4+3] = 1, 1, 1
	require.Equal(t, want, s.classMaps())
}
