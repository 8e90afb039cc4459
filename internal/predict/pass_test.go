package predict

import (
	"image"
	"image/color"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/internal/picture"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// passOf is a pass over an image of 128 x 64 pixels, which the letterbox halves
// and moves down by 16 pixels. In both branches two anchors of stride 8 detect:
// anchor 29, whose box is 2 strides wide and 1 high to either side, and anchor 28
// with the same box and a lower score. In the one-to-one branch both boxes are
// one stride further left.
func passOf(t *testing.T, task string) *Pass {
	t.Helper()
	settings, err := config.Defaults(task)
	require.NoError(t, err)
	settings.Data.ImgSize, settings.Model.Classes = side, 1
	outputs := trainer.Outputs[float32]{"prototypes": make([]float32, 32*side*side/16)}
	for i := range side * side / 16 {
		outputs["prototypes"][i] = 10
	}
	for branch, left := range map[string]float32{"o2m": 0, "o2o": 1} {
		class, box, angle := make([]float32, anchors), make([]float32, 4*anchors), make([]float32, anchors)
		for i := range class {
			class[i] = -20
		}
		class[29], class[28] = 2, 1
		copy(box[4*28:], []float32{1 + left, 1, 3 - left, 1, 2 + left, 1, 2 - left, 1})
		keypoint, coefficient := make([]float32, 4*anchors), make([]float32, 32*anchors)
		keypoint[4*29], coefficient[32*29] = 1, 1
		outputs[branch+"_cls"], outputs[branch+"_box"], outputs[branch+"_angle"] = class, box, angle
		outputs[branch+"_keypoint"], outputs[branch+"_coeff"] = keypoint, coefficient
	}
	return &Pass{&Model{Settings: settings}, outputs, data.NewLetterbox(128, 64, side, side), 128, 64}
}

// Sections 8.1, 8.2 and 8.5: the end-to-end path reads the one-to-one branch and
// suppresses nothing, the other one reads the one-to-many branch; both give
// pixels of the image.
func TestBothPathsInPixelsOfTheImage(t *testing.T) {
	for _, task := range []string{"detect", "obb", "pose", "segment"} {
		t.Run(task, func(t *testing.T) {
			p := passOf(t, task)
			all, err := p.EndToEnd(0.5)
			require.NoError(t, err)
			require.Len(t, all, 2)
			one, err := p.Suppressed(0.5)
			require.NoError(t, err)
			require.Len(t, one, 1)
			require.InDelta(t, 0.8808, one[0].Score, 1e-4)
			require.Equal(t, geometry.Box{X1: 40, Y1: 8, X2: 104, Y2: 40}, all[0].Box)
			require.Equal(t, geometry.Box{X1: 56, Y1: 8, X2: 120, Y2: 40}, one[0].Box)
			switch task {
			case "obb":
				require.Equal(t, geometry.RotatedBox{CenterX: 88, CenterY: 24, Width: 64, Height: 32}, *one[0].Rotated)
			case "pose":
				require.Equal(t, []geometry.Point{{X: 104, Y: 24}}, one[0].Keypoints)
			case "segment":
				require.Equal(t, []int{128, 64, 64 * 32}, []int{one[0].Mask.Width, one[0].Mask.Height, one[0].Mask.Area()})
				require.True(t, one[0].Mask.At(8, 56) && !one[0].Mask.At(8, 55) && !one[0].Mask.At(7, 56))
			}
		})
	}
}

// Every part of an instance is drawn as the picture of its annotation.
func TestDrawShowsEveryPart(t *testing.T) {
	raster := &data.Raster{Width: 128, Height: 64, Pixels: make([]uint8, 3*128*64)}
	labels := checkpoint.Labels{Classes: []string{"ship", "plane"}, Skeleton: [][2]int{{0, 1}}}
	box := geometry.Box{X1: 20, Y1: 10, X2: 90, Y2: 50}
	rotated := geometry.RotatedBox{CenterX: 60, CenterY: 30, Width: 50, Height: 14, Angle: 0.4}
	points := []geometry.Point{{X: 30, Y: 20}, {X: 70, Y: 40}}
	pixels, alpha := mask.New(128, 64), image.NewAlpha(image.Rect(0, 0, 128, 64))
	for column := 30; column < 60; column++ {
		pixels.Set(30, column)
		alpha.SetAlpha(column, 30, color.Alpha{A: 255})
	}
	boxed := picture.FromBox(box, 1, picture.Label("plane", 0.5))
	for name, test := range map[string]struct {
		change func(*Instance)
		want   func(*picture.Annotation)
	}{
		"box":     {func(*Instance) {}, func(*picture.Annotation) {}},
		"rotated": {func(i *Instance) { i.Rotated = &rotated }, func(a *picture.Annotation) { *a = picture.FromRotated(rotated, 1, a.Text) }},
		"mask":    {func(i *Instance) { i.Mask = pixels }, func(a *picture.Annotation) { a.Mask = alpha }},
		"keypoints": {func(i *Instance) { i.Keypoints = points }, func(a *picture.Annotation) {
			a.Points, a.Bones = []picture.Mark{{Point: points[0]}, {Point: points[1]}}, labels.Skeleton
		}},
	} {
		instance, annotation := Instance{Class: 1, Score: 0.5, Box: box}, boxed
		test.change(&instance)
		test.want(&annotation)
		want, err := picture.Annotate(raster.Standard(), []picture.Annotation{annotation})
		require.NoError(t, err)
		got, err := Draw(raster, []Instance{instance}, labels)
		require.NoError(t, err)
		require.True(t, string(want.Pix) == string(got.Pix), name)
		if name != "box" {
			plain, err := Draw(raster, []Instance{{Class: 1, Score: 0.5, Box: box}}, labels)
			require.NoError(t, err)
			require.False(t, string(plain.Pix) == string(got.Pix), name)
		}
	}
}
