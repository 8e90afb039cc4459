package data

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

func TestTriangleTapsWorkedNumbers(t *testing.T) {
	cases := []struct {
		in, want []float64
	}{
		{[]float64{0, 1, 2, 3}, []float64{0.714285714, 2.28571429}},
		{[]float64{0, 1, 4, 9, 16, 25, 36, 49}, []float64{2.05263158, 13.452381, 35.5789474}},
		{[]float64{0, 3, 9}, []float64{0, 1.2, 3, 6.6, 9}},
		{[]float64{4, 2, 7}, []float64{4, 2, 7}},
	}
	for _, c := range cases {
		for i, tap := range triangleTaps(len(c.in), len(c.want)) {
			sum := 0.0
			for k, weight := range tap.weights {
				sum += weight * c.in[tap.first+k]
			}
			require.InDelta(t, c.want[i], sum, 5e-8)
		}
	}
}

func TestResizeIsSeparable(t *testing.T) {
	row, column := []float64{0, 1, 4, 9, 16, 25, 36, 49}, []float64{0, 3, 9}
	wantRow, wantColumn := []float64{2.05263158, 13.452381, 35.5789474}, []float64{0, 1.2, 3, 6.6, 9}
	source := newFloatImage(8, 3)
	for i := range source.values {
		x, y, channel := i/3%8, i/3/8, i%3
		source.values[i] = float32(float64(channel+1) * row[x] * column[y])
	}
	resized := source.resize(3, 5)
	for i, value := range resized.values {
		x, y, channel := i/3%3, i/3/3, i%3
		want := float64(channel+1) * wantRow[x] * wantColumn[y]
		require.InDelta(t, want, value, 1e-6*math.Max(1, want))
	}
}

func TestLetterboxWorkedNumbers(t *testing.T) {
	cases := []struct {
		height, width, canvas    int
		ratio                    float64
		newHeight, newWidth      int
		left, top, right, bottom int
	}{
		{480, 640, 640, 1, 480, 640, 0, 80, 0, 80},
		{427, 640, 640, 1, 427, 640, 0, 106, 0, 107},
		{1080, 1920, 640, 0.333333333, 360, 640, 0, 140, 0, 140},
		{375, 500, 640, 1.28, 480, 640, 0, 80, 0, 80},
		{100, 333, 640, 1.92192192, 192, 640, 0, 224, 0, 224},
		{1, 2000, 640, 0.32, 1, 640, 0, 319, 0, 320},
		{5, 8, 4, 0.5, 2, 4, 0, 1, 0, 1},
	}
	for _, c := range cases {
		l := NewLetterbox(c.width, c.height, c.canvas, c.canvas)
		require.InDelta(t, c.ratio, l.Ratio, 5e-9)
		require.Equal(t, []int{c.newHeight, c.newWidth}, []int{l.ContentHeight, l.ContentWidth})
		right, bottom := c.canvas-l.PadLeft-l.ContentWidth, c.canvas-l.PadTop-l.ContentHeight
		require.Equal(t, []int{c.left, c.top, c.right, c.bottom}, []int{l.PadLeft, l.PadTop, right, bottom})
	}
	box := NewLetterbox(500, 375, 640, 640).Box(geometry.Box{X1: 100, Y1: 50, X2: 300, Y2: 200})
	require.Equal(t, geometry.Box{X1: 128, Y1: 144, X2: 384, Y2: 336}, box)
}

func TestLetterboxMapsEveryCoordinateAndBack(t *testing.T) {
	l := NewLetterbox(500, 375, 640, 640)
	target := everyModality()
	mapped := l.Target(target)
	require.Equal(t, everyModality(), target, "the argument stays")
	require.NoError(t, mapped.Validate())
	require.Equal(t, geometry.Point{X: 128, Y: 144}, mapped.Polygons[0][0])
	require.Equal(t, geometry.Point{X: 384, Y: 336}, mapped.Keypoints[0][1])
	require.Equal(t, geometry.RotatedBox{CenterX: 256, CenterY: 240, Width: 256, Height: 192, Angle: 0.25}, mapped.Rotated[0])
	require.Equal(t, target.Visibility, mapped.Visibility)
	require.Equal(t, target.Difficult, mapped.Difficult)
	require.Equal(t, target.Labels, mapped.Labels)

	require.InDeltaSlice(t, boxValues(target.Boxes[0]), boxValues(l.InverseBox(mapped.Boxes[0])), 1e-12)
	back := l.InverseRotated(mapped.Rotated[0])
	require.InDelta(t, target.Rotated[0].CenterX, back.CenterX, 1e-12)
	require.InDelta(t, target.Rotated[0].CenterY, back.CenterY, 1e-12)
	require.InDelta(t, target.Rotated[0].Width, back.Width, 1e-12)
	require.InDelta(t, target.Rotated[0].Height, back.Height, 1e-12)
	require.Equal(t, target.Rotated[0].Angle, back.Angle)
}

func TestLetterboxImage(t *testing.T) {
	source := &Raster{Width: 8, Height: 5, Pixels: bytes.Repeat([]byte{128}, 8*5*3)}
	canvas := NewLetterbox(8, 5, 4, 4).Image(source)
	for i, code := range canvas.Codes() {
		want := uint8(114)
		if row := i / 12; row == 1 || row == 2 {
			want = 128
		}
		require.Equal(t, want, code)
	}
}

// A letterbox that changes nothing must hand on the exact codes.
func TestLetterboxOfFittingImageIsExact(t *testing.T) {
	source := rasterOf(drawing(32, 32, 3))
	require.Equal(t, source.Pixels, NewLetterbox(32, 32, 32, 32).Image(source).Codes())
}
