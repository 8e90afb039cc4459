package picture

import (
	"image"
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

func TestPoseIsDrawn(t *testing.T) {
	annotation := FromBox(geometry.Box{X1: 10, Y1: 10, X2: 190, Y2: 190}, 0, "")
	annotation.Points = make([]Mark, 17)
	for i := range annotation.Points {
		annotation.Points[i].Absent = true
	}
	annotation.Points[5] = Mark{Point: geometry.Point{X: 50, Y: 100}}
	annotation.Points[6] = Mark{Point: geometry.Point{X: 150, Y: 100}, Hidden: true}
	base := plain(200, 200)
	drawn := annotate(t, base, annotation)
	require.Equal(t, classColor(5), drawn.RGBAAt(50, 100))
	require.Equal(t, color.RGBA{A: 255}, drawn.RGBAAt(150, 100), "hollow")
	bone := drawn.RGBAAt(100, 100)
	paint := classColor(0)
	require.InDelta(t, paint.R, bone.R, 60)
	require.InDelta(t, paint.G, bone.G, 60)

	annotation.Points[6].Absent = true
	drawn = annotate(t, base, annotation)
	require.Equal(t, drawn.RGBAAt(60, 150), drawn.RGBAAt(150, 100), "neither point nor bone")

	annotation.Points[5].Point.X = math.NaN()
	annotation.Points[6] = Mark{Point: geometry.Point{X: math.Inf(1), Y: 1e300}}
	require.NotPanics(t, func() { annotate(t, base, annotation) })
	for _, bone := range HumanBones {
		require.Less(t, max(bone[0], bone[1]), 17)
	}
	require.Equal(t, HumanBones, bonesOf(Annotation{Points: make([]Mark, 17)}))
	require.Empty(t, bonesOf(Annotation{Points: make([]Mark, 5)}))
}

// Bones that an annotation names are drawn, and no others.
func TestNamedBones(t *testing.T) {
	base := plain(200, 200)
	annotation := FromBox(geometry.Box{X1: 5, Y1: 5, X2: 195, Y2: 195}, 1, "")
	annotation.Points = make([]Mark, 17)
	for i := range annotation.Points {
		annotation.Points[i].Absent = true
	}
	annotation.Points[5] = Mark{Point: geometry.Point{X: 50, Y: 60}}
	annotation.Points[6] = Mark{Point: geometry.Point{X: 150, Y: 60}}
	annotation.Points[1] = Mark{Point: geometry.Point{X: 150, Y: 160}}
	annotation.Bones = [][2]int{{6, 1}}
	drawn := annotate(t, base, annotation)
	inside := drawn.RGBAAt(30, 100)
	require.NotEqual(t, inside, drawn.RGBAAt(150, 110))
	require.Equal(t, inside, drawn.RGBAAt(100, 60), "not the bone of a person")
}

func TestRingIsFilled(t *testing.T) {
	annotation := FromBox(geometry.Box{X1: 20, Y1: 20, X2: 180, Y2: 180}, 3, "")
	base := plain(200, 200)
	without := annotate(t, base, annotation)
	annotation.Ring = []geometry.Point{{X: 20, Y: 20}, {X: 100, Y: 20}, {X: 20, Y: 180}}
	with := annotate(t, base, annotation)
	require.NotEqual(t, without.RGBAAt(40, 60), with.RGBAAt(40, 60))
	require.Equal(t, without.RGBAAt(160, 160), with.RGBAAt(160, 160), "outside the ring")
	annotation.Ring = annotation.Ring[:2]
	require.Equal(t, without, annotate(t, base, annotation), "two points are no ring")
}

func TestMaskIsTinted(t *testing.T) {
	annotation := FromBox(geometry.Box{X1: 20, Y1: 20, X2: 180, Y2: 180}, 3, "")
	base := plain(200, 200)
	without := annotate(t, base, annotation)
	annotation.Mask = image.NewAlpha(image.Rect(0, 0, 300, 100))
	annotation.Mask.SetAlpha(60, 70, color.Alpha{A: 255})
	with := annotate(t, base, annotation)
	require.NotEqual(t, without.RGBAAt(60, 70), with.RGBAAt(60, 70))
	require.Equal(t, without.RGBAAt(61, 70), with.RGBAAt(61, 70))
}
