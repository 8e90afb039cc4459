package objective

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// The example of section 2.10.
func workedInstance() []Instance {
	return []Instance{{
		Area:      1200,
		Predicted: []geometry.Point{{X: 10, Y: 12}, {X: 22, Y: 30}},
		Target:    []geometry.Point{{X: 12, Y: 12}, {X: 20, Y: 33}},
		Tolerance: []float64{0.052, 0.05},
	}}
}

func TestSimilarityExample(t *testing.T) {
	value, slopes := SimilarityLoss(workedInstance())
	near(t, 0.672770434, value)
	near(t, -0.166389389, slopes[0][0][0])
	near(t, 0, slopes[0][0][1])
	near(t, 0.0381862813, slopes[0][1][0])
	near(t, -0.057279422, slopes[0][1][1])

	for i, kernel := range []float64{0.539900288, 0.114558844} {
		one := workedInstance()
		one[0].Predicted, one[0].Target, one[0].Tolerance = one[0].Predicted[i:i+1], one[0].Target[i:i+1], one[0].Tolerance[i:i+1]
		value, _ := SimilarityLoss(one)
		near(t, kernel, 1-value)
	}

	two := append(workedInstance(), workedInstance()...)
	two[1].Predicted = two[1].Target
	value, slopes = SimilarityLoss(two)
	near(t, 0.672770434/2, value)
	near(t, -0.166389389/2, slopes[0][0][0])
	require.Equal(t, [][2]float64{{}, {}}, slopes[1])

	value, slopes = SimilarityLoss(nil)
	require.Zero(t, value)
	require.NotNil(t, slopes)
}

func TestTolerances(t *testing.T) {
	require.InDelta(t, 2*.026, tolerances(17)[0], 1e-15)
	require.InDelta(t, 2*.089, tolerances(17)[16], 1e-15)
	require.Equal(t, []float64{2 * .072, 2 * .072}, tolerances(2))
}
