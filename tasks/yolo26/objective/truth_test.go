package objective

import (
	"math"
	"testing"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/stretchr/testify/require"
)

func TestPad(t *testing.T) {
	a, b, c := geometry.Box{X2: 1, Y2: 2}, geometry.Box{X2: 3, Y2: 4}, geometry.Box{X2: 5, Y2: 6}
	truth, err := Pad([][]int{{2}, {}, {0, 1}}, [][]geometry.Box{{a}, nil, {b, c}}, 3)
	require.NoError(t, err)
	require.Equal(t, &GroundTruth{
		Images: 3, Instances: 2,
		Labels: []int{2, 0, 0, 0, 0, 1},
		Boxes:  []geometry.Box{a, {}, {}, {}, b, c},
		Mask:   []bool{true, false, false, false, true, true},
	}, truth)

	visibility, err := PadExtra(truth, "keypoints", [][][2]int{{{1, 2}}, {}, {{0, 1}, {2, 2}}})
	require.NoError(t, err)
	require.Equal(t, [][2]int{{1, 2}, {}, {}, {}, {0, 1}, {2, 2}}, visibility)

	require.NoError(t, truth.SetRotated([][]geometry.RotatedBox{{rbox(10, 10, 4, 8, 0)}, {}, {rbox(0, 0, 6, 3, 2.5), rbox(0, 0, 3, 3, 1.2)}}))
	nearAll(t, []float64{10, 10, 8, 4, math.Pi / 2}, fields(truth.Rotated[0]))
	nearAll(t, []float64{0, 0, 6, 3, -0.641592654}, fields(truth.Rotated[4]))
}

func TestPadWithoutObjects(t *testing.T) {
	truth, err := Pad([][]int{{}, nil}, [][]geometry.Box{nil, {}}, 3)
	require.NoError(t, err)
	require.Equal(t, 0, truth.Instances)
	require.Equal(t, 2, truth.Images)
	require.NoError(t, truth.SetRotated([][]geometry.RotatedBox{nil, nil}))
	require.NotNil(t, truth.Rotated, "a batch of an oriented task without objects stays oriented")
}

// Field case YO-08.
func TestPadRefusesBadGroundTruth(t *testing.T) {
	one := []geometry.Box{{X2: 8, Y2: 8}}
	for name, c := range map[string]struct {
		labels [][]int
		boxes  [][]geometry.Box
		want   string
	}{
		"label too large": {[][]int{{0}, {3}}, [][]geometry.Box{one, one}, "image 1, object 0: class 3 is outside 0..2; correct the label or raise the number of classes"},
		"label negative":  {[][]int{{0, -1}}, [][]geometry.Box{{{}, {}}}, "image 0, object 1: class -1 is outside 0..2; correct"},
		"box count":       {[][]int{{0}, {0, 1}}, [][]geometry.Box{one, one}, "image 1 has 1 boxes for 2 labels; give one for every object"},
		"image count":     {[][]int{{0}, {0}}, [][]geometry.Box{one}, "boxes are given for 1 images and labels for 2"},
		"not a number":    {[][]int{{}, {0}}, [][]geometry.Box{{}, {{X1: math.NaN()}}}, "image 1, object 0: box {NaN 0 0 0} is not finite"},
		"infinite":        {[][]int{{0}}, [][]geometry.Box{{{Y2: math.Inf(1)}}}, "is not finite"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Pad(c.labels, c.boxes, 3)
			require.ErrorContains(t, err, c.want)
		})
	}

	truth, err := Pad([][]int{{0}, {}}, [][]geometry.Box{one, {}}, 3)
	require.NoError(t, err)
	require.ErrorContains(t, truth.SetRotated([][]geometry.RotatedBox{{}, {}}), "image 0 has 0 rotated boxes for 1 labels")
	require.ErrorContains(t, truth.SetRotated([][]geometry.RotatedBox{{{Angle: math.Inf(1)}}, {}}), "image 0, object 0: rotated box")
}
