package objective

import (
	"testing"

	"github.com/stretchr/testify/require"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// workedMasks is the example of section 2.7: 4 x 4 logits, which one prototype
// holds under a coefficient of 1, and the boxes in cells, as targets of as many
// positives.
func workedMasks(t *testing.T, boxes ...yolo26.Box) (s *step, coefficients, prototypes []float64, assignment *yolo26.Assignment) {
	t.Helper()
	logits := []float64{0.5, -1, 2, 0, 1.5, 0.3, -0.7, -2, -0.2, 0.8, 0.1, 1, 3, -3, 0.4, 0.6}
	target := []bool{true, false, true, false, true, true, false, false, false, true, true, true, true, false, false, true}
	prototypes = make([]float64, Prototypes*16)
	copy(prototypes[5*16:], logits)
	coefficients = make([]float64, 2*Prototypes)
	coefficients[5], coefficients[Prototypes+5] = 1, 1

	labels := make([]int, len(boxes))
	pixels := make([]yolo26.Box, len(boxes))
	for i, b := range boxes {
		pixels[i] = yolo26.Box{X1: 4 * b.X1, Y1: 4 * b.Y1, X2: 4 * b.X2, Y2: 4 * b.Y2}
	}
	truth, err := yolo26.Pad([][]int{labels}, [][]yolo26.Box{pixels}, 1)
	require.NoError(t, err)
	assignment = &yolo26.Assignment{Images: [][]yolo26.Positive{nil}, Normaliser: 1}
	var masks [][]bool
	for i := range boxes {
		assignment.Images[0] = append(assignment.Images[0], yolo26.Positive{Anchor: i, Object: i})
		assignment.Count++
		masks = append(masks, target)
	}
	shared := &yolo26.Step{Size: Size{Batch: 1, Height: 16, Width: 16, Classes: 1}, Grid: yolo26.NewGrid(yolo26.Level{Rows: 1, Columns: 2, Stride: 8}), Truth: truth}
	return &step{Step: shared, objective: newObjective(t), masks: masks, rows: 4, columns: 4}, coefficients, prototypes, assignment
}

func cells(x1, y1, x2, y2 float64) yolo26.Box { return yolo26.Box{X1: x1, Y1: y1, X2: x2, Y2: y2} }

func TestMaskExample(t *testing.T) {
	for _, c := range []struct {
		boxes []yolo26.Box
		want  float64
		area  float64 // of a single box, with the sum over its pixels
		sum   float64
	}{
		{[]yolo26.Box{cells(0.6, 0, 3.4, 2.5)}, 0.199675856, 7, 1.39773099},
		{[]yolo26.Box{cells(0, 0, 4, 4)}, 0.391742015, 16, 6.26787223},
		{[]yolo26.Box{cells(0.6, 0, 3.4, 2.5), cells(0, 0, 4, 4)}, 0.295708935, 0, 0},
		{[]yolo26.Box{cells(1.2, 1.2, 1.4, 1.4)}, 0, 1, 0},
	} {
		s, coefficients, prototypes, assignment := workedMasks(t, c.boxes...)
		by := make([]float64, len(prototypes))
		value := maskTerm(s, coefficients, prototypes, assignment, 1, make([]float64, len(coefficients)), by)
		near(t, c.want, value)
		near(t, c.sum, value*c.area)
	}
}

// The gradient of the first box alone, by the logits, which the prototype with
// coefficient 1 is.
func TestMaskGradientExample(t *testing.T) {
	s, coefficients, prototypes, assignment := workedMasks(t, cells(0.6, 0, 3.4, 2.5))
	by := make([]float64, len(prototypes))
	maskTerm(s, coefficients, prototypes, assignment, 1, make([]float64, len(coefficients)), by)
	want := make([]float64, 16)
	want[1], want[2], want[5], want[6] = 0.0384202031, -0.0170289889, -0.0607939262, 0.0474017468
	for i := range want {
		near(t, want[i], by[5*16+i])
	}
	for i, v := range by {
		require.True(t, i/16 == 5 || v == 0, "prototypes without a coefficient")
	}
}

// Centres on the left and top edges are in, on the right and bottom edges out;
// the area is that of the box, at least 1.
func TestWindow(t *testing.T) {
	s, _, _, _ := workedMasks(t)
	for _, c := range []struct {
		box  yolo26.Box
		want window
	}{
		{cells(0.5, 0.5, 2.5, 1.5), window{0, 0, 2, 1, 2}},
		{cells(0.51, 0.51, 2.51, 1.51), window{1, 1, 3, 2, 2}},
		{cells(-5, -5, 50, 50), window{0, 0, 4, 4, 55 * 55}},
		{cells(3, 3, 1, 1), window{3, 3, 3, 3, 1}},
		{cells(9, 9, 12, 12), window{4, 4, 4, 4, 9}},
	} {
		box := yolo26.Box{X1: 4 * c.box.X1, Y1: 4 * c.box.Y1, X2: 4 * c.box.X2, Y2: 4 * c.box.Y2}
		got := s.window(box)
		require.InDelta(t, c.want.area, got.area, 1e-9)
		got.area = c.want.area
		require.Equal(t, c.want, got, c.box)
	}
}
