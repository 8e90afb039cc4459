package objective

import (
	"testing"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/stretchr/testify/require"
)

// concentric is a row of square objects of 160 px, each around the one anchor of
// stride 32 that sees it, and predictions of the same centres whose sides are
// scaled, so that the overlap is the square of the scale. It gives the box terms
// under their gains, and the sum of the weights q.
func concentric(t *testing.T, objects int, scale float64) (total, quality float64) {
	t.Helper()
	const side, apart = 160, 320
	grid := NewGrid(Level{Rows: 1, Columns: objects, Stride: apart})
	for i := range grid.Stride {
		grid.Stride[i] = 32
	}
	var truth, predicted []geometry.Box
	for i := range objects {
		x, y := grid.X[i], grid.Y[i]
		square := func(side float64) geometry.Box {
			return geometry.Box{X1: x - side/2, Y1: y - side/2, X2: x + side/2, Y2: y + side/2}
		}
		truth, predicted = append(truth, square(side)), append(predicted, square(scale*side))
	}
	probabilities := make([][]float64, objects)
	for i := range probabilities {
		probabilities[i] = []float64{0.01}
	}
	s := newScene(t, grid, predicted, probabilities, make([]int, objects), truth)
	assignment := s.assign(OneToOneAssigner())
	require.Equal(t, objects, assignment.Count)
	gains := DefaultGains()
	gains.Class = 0
	terms, _ := s.detect(assignment, gains, 1)
	return terms.Total(gains), assignment.Quality
}

// The box terms of a batch are their mean over the weights q times min(sum of q,
// 1) (YOLO26 specification, objective sections 2, 2.2 and 2.3), so while the sum
// is below 1 they grow with the overlap that is learnt: for a lone object of 160
// px by u (7.5 (1-u) + 6 * 10 (1 - sqrt u)) at overlap u, which is largest at 0.45
// and below its value at 0.09 again from 0.87 on. With enough objects they fall
// throughout.
func TestBoxTermsBelowTheFloorOfTheNormaliser(t *testing.T) {
	for _, at := range []struct{ scale, want float64 }{
		{0.2, 2.208}, {0.3, 4.39425}, {0.674, 10.744958}, {0.9, 6.01425}, {0.93, 4.508940}, {0.95, 3.367453},
	} {
		total, quality := concentric(t, 1, at.scale)
		require.InDelta(t, at.scale*at.scale, quality, 1e-6)
		require.InDelta(t, at.want, total, 1e-5, "scale %v", at.scale)
	}

	lower := func(objects int) (fell bool) {
		before, _ := concentric(t, objects, 0.3)
		after, _ := concentric(t, objects, 0.674)
		return after < before
	}
	require.False(t, lower(1))
	require.True(t, lower(12), "the sum of q is 1.08 at the start")
}
