package precision_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/precision"
)

func TestConfusionCounts(t *testing.T) {
	c, err := precision.NewConfusion(2, 0.25, 0.5)
	require.NoError(t, err)
	detections := []precision.Detection{
		{Class: 0, Score: 0.9},  // on object 0, but object 0 has a closer one
		{Class: 1, Score: 0.3},  // the closer one, of the wrong class
		{Class: 1, Score: 0.25}, // on the crowd
		{Class: 0, Score: 0.24}, // too low
		{Class: 1, Score: 0.25}, // ties with the next one, which scores higher
		{Class: 1, Score: 0.6},
	}
	objects := []precision.Object{{Class: 0}, {Class: 1}, {Class: 0, Crowd: true}, {Class: 1}}
	overlaps := [][]float64{
		{0.6, 0, 0, 0},
		{0.8, 0, 0, 0},
		{0, 0.49, 0.7, 0},
		{0, 1, 0, 0},
		{0, 0, 0, 0.5},
		{0, 0, 0, 0.5},
	}
	similarity := func(d, o int) float64 { return overlaps[d][o] }
	require.NoError(t, c.Add(detections, objects, similarity))
	want := [][]int{
		{0, 0, 1}, // detection 0 is of nothing
		{1, 1, 1}, // 1 on object 0, 5 on object 3, 4 left over
		{0, 1, 0}, // object 1 is missed
	}
	require.Equal(t, want, c.Counts())
	require.NoError(t, c.Add(detections, objects, similarity))
	require.Equal(t, 2, c.Counts()[1][0])
	require.Error(t, c.Add([]precision.Detection{{Class: 2}}, nil, similarity))
	require.Error(t, c.Add(nil, []precision.Object{{Class: -1}}, similarity))
}

func TestConfusionRefusesBadSettings(t *testing.T) {
	_, err := precision.NewConfusion(0, 0.5, 0.5)
	require.EqualError(t, err, "a confusion of 0 classes; give at least 1")
	for _, bounds := range [][2]float64{{0, 0.5}, {0.5, 0}, {1.5, 0.5}, {0.5, 2}} {
		_, err = precision.NewConfusion(1, bounds[0], bounds[1])
		require.ErrorContains(t, err, "give both in (0,1]")
	}
}
