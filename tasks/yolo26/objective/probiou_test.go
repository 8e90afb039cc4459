package objective

import (
	"math"
	"testing"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/stretchr/testify/require"
)

func TestProbIoUWorkedNumbers(t *testing.T) {
	for _, c := range []struct {
		predicted, target                         geometry.RotatedBox
		offset, bhattacharyya, hellinger, overlap float64
	}{
		{rbox(50, 40, 60, 20, 0.3), rbox(55, 38, 50, 24, 0.1), 0.037260257, 0.0737923679, 0.266712325, 0.733287675},
		{rbox(0, 0, 20, 2, 0), rbox(0, 0, 20, 2, math.Pi/2), 0, 1.61938824, 0.895533471, 0.104466529},
		{rbox(100, 100, 40, 40, 0.2), rbox(100, 100, 40, 40, 0.2+math.Pi/2), 0, 0, 0, 1},
		{rbox(10, 10, 8, 0, 0.1), rbox(10, 10, 8, 4, 0.1), 0, 4.95174378, 0.996458194, 0.0035418061},
	} {
		offset, _ := newGaussianPair(c.predicted, c.target).offset()
		near(t, c.offset, offset)
		distance, _ := BhattacharyyaDistance(c.predicted, c.target)
		near(t, c.bhattacharyya, distance)
		distance, _ = HellingerDistance(c.predicted, c.target)
		near(t, c.hellinger, distance)
		near(t, c.overlap, 1-distance)
	}
	predicted, target := rbox(50, 40, 60, 20, 0.3), rbox(55, 38, 50, 24, 0.1)
	_, slopes := HellingerDistance(predicted, target)
	nearAll(t, []float64{-0.0144366571, 0.0287904946, 0.00306513062, -0.0116085934, 0.388288183}, slopes[:])
	_, slopes = BhattacharyyaDistance(predicted, target)
	nearAll(t, []float64{-0.0082906263, 0.0165336913, 0.00176023108, -0.00666653706, 0.222984601}, slopes[:])
}

func TestProbIoUDerivatives(t *testing.T) {
	for _, target := range []geometry.RotatedBox{rbox(55, 38, 50, 24, 0.1), rbox(42, 41, 30, 30, -0.7), rbox(50, 40, 200, 3, 2.2)} {
		for _, predicted := range []geometry.RotatedBox{
			rbox(50, 40, 60, 20, 0.3), rbox(50, 40, 12, 9, 2.9), rbox(40, 52, 25, 25, -0.5), rbox(51, 39, 45, 0.5, 1.1),
		} {
			for name, distance := range map[string]func(a, b geometry.RotatedBox) (float64, [5]float64){
				"hellinger": HellingerDistance, "bhattacharyya": BhattacharyyaDistance,
			} {
				at := predicted
				_, slopes := distance(predicted, target)
				for i, field := range []*float64{&at.CenterX, &at.CenterY, &at.Width, &at.Height, &at.Angle} {
					want := slope(field, func() float64 {
						value, _ := distance(at, target)
						return value
					})
					require.InDelta(t, want, slopes[i], 2e-8*(1+math.Abs(want)), "%s of %v and %v, field %d", name, predicted, target, i)
				}
			}
		}
	}
}

// Equal boxes are at distance exactly 0 with derivative exactly 0.
func TestProbIoUOfEqualBoxes(t *testing.T) {
	for _, box := range []geometry.RotatedBox{rbox(1.1, 2.3, 17.7, 3.9, 0.77), rbox(1e4, 1e4, 0.3, 0.1, 2), rbox(5, 5, -3, -4, 0.1)} {
		for _, distance := range []func(a, b geometry.RotatedBox) (float64, [5]float64){HellingerDistance, BhattacharyyaDistance} {
			value, slopes := distance(box, box)
			require.Equal(t, 0.0, value)
			require.Equal(t, [5]float64{}, slopes)
		}
	}
}

func TestHellingerRadicandFloor(t *testing.T) {
	target := rbox(0, 0, 20, 10, 0)
	moved := target
	moved.CenterX = 1e-10
	exponent, _ := BhattacharyyaDistance(moved, target)
	require.True(t, exponent > 0 && exponent < 1e-20)
	distance, slopes := HellingerDistance(moved, target)
	require.Equal(t, 1e-10, distance)
	require.Equal(t, [5]float64{}, slopes)
}

// A floored side has no derivative; one exactly at the floor has.
func TestSideFloor(t *testing.T) {
	target := rbox(10, 10, 8, 4, 0.1)
	for side, passes := range map[float64]bool{-3: false, 0: false, 0.9e-4: false, 1e-4: true} {
		_, slopes := HellingerDistance(rbox(10, 10, 8, side, 0.1), target)
		require.Equal(t, passes, slopes[3] != 0, "side %v", side)
	}
	same, _ := HellingerDistance(rbox(10, 10, 8, -3, 0.1), target)
	floored, _ := HellingerDistance(rbox(10, 10, 8, 1e-4, 0.1), target)
	require.Equal(t, floored, same)
}

// covariance is that of a box as a Gaussian: xx, yy, xy.
func covariance(box geometry.RotatedBox) [3]float64 {
	g := newGaussian(box, 0, 0)
	return [3]float64{
		g.along*g.cos*g.cos + g.across*g.sin*g.sin,
		g.along*g.sin*g.sin + g.across*g.cos*g.cos,
		(g.along - g.across) * g.cos * g.sin,
	}
}

// Field case YO-14.
func TestEveryFormOfARectangleIsTheSameGaussian(t *testing.T) {
	target := rbox(7, -3, 90, 60, 0.2)
	var distances []float64
	for _, form := range []geometry.RotatedBox{
		rbox(0, 0, 100, 50, .01), rbox(0, 0, 50, 100, .01+math.Pi/2), rbox(0, 0, 100, 50, .01-math.Pi),
	} {
		got := covariance(form.Canonical())
		require.InDeltaSlice(t, []float64{833.27084, 208.39583, 6.24958}, got[:], 1e-5)
		distance, _ := HellingerDistance(form.Canonical(), target)
		distances = append(distances, distance)
	}
	require.InDelta(t, distances[0], distances[1], 1e-13)
	require.InDelta(t, distances[0], distances[2], 1e-13)
}

// Field case YO-16: a square says nothing about its angle.
func TestSquaresHaveNoAngleDerivative(t *testing.T) {
	predicted, target := rbox(0, 0, 40, 40, 0.3), rbox(0, 0, 40, 40, 1.1)
	a, b := covariance(predicted), covariance(target)
	require.InDeltaSlice(t, a[:], b[:], 1e-12)
	_, slopes := BhattacharyyaDistance(predicted, target)
	require.InDelta(t, 0, slopes[4], 1e-6)
	predicted.CenterX, predicted.CenterY = 3, 5
	_, slopes = HellingerDistance(predicted, target)
	require.InDelta(t, 0, slopes[4], 1e-6)
}
