package tiles_test

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/precision"
	"github.com/reprise-ml/reprise/internal/eval/tiles"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// cut is the row-major grid of windows of side 1024 at the given starts.
func cut(xs, ys []int) []image.Rectangle {
	var windows []image.Rectangle
	for _, y := range ys {
		for _, x := range xs {
			windows = append(windows, image.Rect(x, y, x+1024, y+1024))
		}
	}
	return windows
}

func layout(t *testing.T, windows []image.Rectangle) *tiles.Layout {
	t.Helper()
	l, err := tiles.NewLayout(windows)
	require.NoError(t, err)
	return l
}

// The boundaries of section 9.4.
func TestCoreBoundaries(t *testing.T) {
	for _, test := range []struct {
		starts []int
		want   []float64
	}{
		{[]int{0, 824, 976}, []float64{924, 1412}},
		{[]int{0, 824, 1648, 2472, 2976}, []float64{924, 1748, 2572, 3236}},
		{[]int{0}, nil},
	} {
		bounds := append(append([]float64{math.Inf(-1)}, test.want...), math.Inf(1))
		along, down := layout(t, cut(test.starts, []int{0})), layout(t, cut([]int{0}, test.starts))
		for i := range test.starts {
			require.Equal(t, bounds[i], along.Core(i).X1)
			require.Equal(t, bounds[i+1], along.Core(i).X2)
			require.Equal(t, bounds[i], down.Core(i).Y1)
			require.Equal(t, bounds[i+1], down.Core(i).Y2)
			require.True(t, math.IsInf(along.Core(i).Y1, -1) && math.IsInf(along.Core(i).Y2, 1))
		}
	}
}

func TestEveryPointHasOneOwner(t *testing.T) {
	l := layout(t, cut([]int{0, 824, 976}, []int{0, 512, 976}))
	random := rand.New(rand.NewPCG(12, 1))
	points := []geometry.Point{{X: 924, Y: 768}, {X: 1412, Y: 1256}, {X: -50, Y: 3000}}
	for range 1000 {
		points = append(points, geometry.Point{X: random.Float64()*2200 - 100, Y: float64(random.IntN(2200) - 100)})
	}
	for _, p := range points {
		owners := 0
		for window := range l.Len() {
			if l.Owns(window, p) {
				owners++
			}
		}
		require.Equal(t, 1, owners, "%v", p)
	}
	// A low bound belongs to the window, a high bound to the next one.
	require.True(t, l.Owns(1, geometry.Point{X: 924, Y: 0}))
	require.False(t, l.Owns(0, geometry.Point{X: 924, Y: 0}))
	require.True(t, l.Owns(0, geometry.Point{X: math.Nextafter(924, 0), Y: 0}))
}

func TestLayoutRefusesWhatIsNoGrid(t *testing.T) {
	square := cut([]int{0, 824}, []int{0, 824})
	for _, test := range []struct {
		name    string
		windows []image.Rectangle
		want    string
	}{
		{"none", nil, "an image without windows"},
		{"missing", square[:3], "3 windows in 2 columns and 2 rows; a grid of them has 4"},
		{"twice", append(square[:4:4], square[0]), "occurs twice"},
		{"gap", cut([]int{0, 1025}, []int{0}), "windows from x 0 to 1024 and from 1025 to 2049"},
		{"nested", append(cut([]int{0}, []int{0}), image.Rect(0, 100, 1024, 900)), "windows from y 0 to 1024 and from 100 to 900"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := tiles.NewLayout(test.windows)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// view is what a window sees of an image: the objects whose centre it holds and a
// detection of each, whose anchor is the number of the object.
func view(window image.Rectangle, truth []precision.RotatedObject) (detections []decode.Rotated, objects []precision.RotatedObject) {
	for i, object := range truth {
		if !image.Pt(int(object.Box.CenterX), int(object.Box.CenterY)).In(window) {
			continue
		}
		object.Box.CenterX -= float64(window.Min.X)
		object.Box.CenterY -= float64(window.Min.Y)
		objects = append(objects, object)
		detections = append(detections, decode.Rotated{Pick: decode.Pick{Anchor: i, Class: object.Class, Score: 0.5}, Box: object.Box})
	}
	return detections, objects
}

// An image of 2000 x 2000 in nine windows: the objects of an overlap come from every window that sees them and count once.
func TestMergeGivesBackTheImage(t *testing.T) {
	starts := []int{0, 824, 976}
	windows := cut(starts, starts)
	random := rand.New(rand.NewPCG(13, 1))
	var truth []precision.RotatedObject
	for i := range 90 {
		truth = append(truth, precision.RotatedObject{Class: i % 3, Difficult: i%5 == 0, Box: geometry.RotatedBox{
			CenterX: random.Float64() * 2000, CenterY: random.Float64() * 2000, Width: 60, Height: 30, Angle: random.Float64(),
		}})
	}
	seen := 0
	merge := func(order []int) ([]decode.Rotated, []precision.RotatedObject) {
		m := tiles.NewMerge(layout(t, windows))
		for _, window := range order {
			_, _, complete := m.Image()
			require.False(t, complete)
			detections, objects := view(windows[window], truth)
			require.NoError(t, m.Add(window, detections, objects))
			seen += len(objects)
		}
		detections, objects, complete := m.Image()
		require.True(t, complete)
		return detections, objects
	}
	detections, objects := merge([]int{0, 1, 2, 3, 4, 5, 6, 7, 8})
	require.Greater(t, seen, len(truth)) // some were seen twice
	require.Len(t, objects, len(truth))
	require.Len(t, detections, len(truth))
	for i, d := range detections {
		want := truth[d.Anchor]
		require.InDelta(t, want.Box.CenterX, d.Box.CenterX, 1e-9)
		require.InDelta(t, want.Box.CenterY, d.Box.CenterY, 1e-9)
		require.InDelta(t, 60, d.Box.Width, 1e-9)
		require.Equal(t, want.Difficult, objects[i].Difficult)
	}
	again, _ := merge([]int{5, 0, 7, 2, 8, 1, 3, 6, 4})
	require.Equal(t, detections, again)

	// Without a cap all of them are evaluated, and all are found.
	e, err := precision.NewOriented(3, precision.Unlimited)
	require.NoError(t, err)
	require.NoError(t, e.Add(detections, objects))
	require.Equal(t, 1.0, e.Recall())
}

func TestMergeRefusesWrongWindows(t *testing.T) {
	m := tiles.NewMerge(layout(t, cut([]int{0}, []int{0})))
	require.EqualError(t, m.Add(1, nil, nil), "window 1 of an image of 1; give an index of the layout")
	require.NoError(t, m.Add(0, nil, nil))
	require.EqualError(t, m.Add(0, nil, nil), "window 0 was added before; add every window once")
}
