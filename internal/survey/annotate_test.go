package survey

import (
	"image"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/picture"
)

// Every part of a target is drawn as the picture of its annotation.
func TestAnnotateDrawsEveryPart(t *testing.T) {
	dataset := &data.Dataset{Names: []string{"ship", "plane"}, Schema: data.KeypointSchema{Skeleton: [][2]int{{0, 1}}}}
	box := geometry.Box{X1: 20, Y1: 20, X2: 90, Y2: 80}
	rotated := geometry.RotatedBox{CenterX: 60, CenterY: 50, Width: 60, Height: 20, Angle: 0.5}
	ring := []geometry.Point{{X: 25, Y: 25}, {X: 85, Y: 30}, {X: 40, Y: 75}}
	points := []geometry.Point{{X: 30, Y: 30}, {X: 70, Y: 60}, {X: 50, Y: 40}}
	marks := []picture.Mark{{Point: points[0]}, {Point: points[1], Hidden: true}, {Point: points[2], Absent: true}}
	plain := data.Target{Labels: []int{1}, Boxes: []geometry.Box{box}}
	boxed := picture.FromBox(box, 1, "plane")
	for name, test := range map[string]struct {
		change func(*data.Target)
		want   func(*picture.Annotation)
	}{
		"box":       {func(*data.Target) {}, func(*picture.Annotation) {}},
		"difficult": {func(t *data.Target) { t.Difficult = []bool{true} }, func(a *picture.Annotation) { a.Text = "plane (difficult)" }},
		"rotated": {func(t *data.Target) { t.Rotated = []geometry.RotatedBox{rotated} },
			func(a *picture.Annotation) { *a = picture.FromRotated(rotated, 1, "plane") }},
		"ring": {func(t *data.Target) { t.Polygons = [][]geometry.Point{ring} }, func(a *picture.Annotation) { a.Ring = ring }},
		"keypoints": {func(t *data.Target) { t.Keypoints, t.Visibility = [][]geometry.Point{points}, [][]uint8{{2, 1, 0}} },
			func(a *picture.Annotation) { a.Points, a.Bones = marks, dataset.Schema.Skeleton }},
	} {
		t.Run(name, func(t *testing.T) {
			base := image.NewRGBA(image.Rect(0, 0, 120, 100))
			target, annotation := plain, boxed
			test.change(&target)
			test.want(&annotation)
			want, err := picture.Annotate(base, []picture.Annotation{annotation})
			require.NoError(t, err)
			got, err := Annotate(base, target, dataset)
			require.NoError(t, err)
			require.True(t, string(want.Pix) == string(got.Pix))
			without, err := picture.Annotate(base, []picture.Annotation{boxed})
			require.NoError(t, err)
			require.Equal(t, name == "box", string(without.Pix) == string(got.Pix))
		})
	}
}
