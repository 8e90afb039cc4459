package geometry

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClipToBoxWorkedNumbers(t *testing.T) {
	window := Box{0, 0, 1024, 1024}
	clip := func(r RotatedBox) ([]Point, float64) {
		corners := r.Corners()
		clipped := ClipToBox(corners[:], window)
		return clipped, PolygonArea(clipped) / (r.Width * r.Height)
	}

	_, fraction := clip(RotatedBox{1000, 500, 120, 40, 0.4})
	near(t, 0.717140886, fraction)

	cut := RotatedBox{1040, 500, 120, 40, 0.4}
	clipped, fraction := clip(cut)
	near(t, 0.35523941, fraction)
	nearBox(t, RotatedBox{1008.26235, 486.581538, 51.0845935, 40, 0.4}, TightRectangle(clipped, cut.Angle))
	envelope := Envelope(clipped)
	near(t, 976.947974, envelope.X1)
	near(t, 458.21368, envelope.Y1)
	require.Equal(t, 1024.0, envelope.X2)
	near(t, 514.949397, envelope.Y2)
}

func TestClipToBoxEdges(t *testing.T) {
	window := Box{0, 0, 10, 10}
	inside := []Point{{1, 1}, {9, 1}, {9, 9}, {1, 9}}
	require.Equal(t, inside, ClipToBox(inside, window))
	require.Empty(t, ClipToBox([]Point{{11, 1}, {12, 1}, {12, 2}}, window))
	require.Empty(t, ClipToBox(nil, window))

	around := []Point{{-5, -5}, {15, -5}, {15, 15}, {-5, 15}}
	near(t, 100, PolygonArea(ClipToBox(around, window)))

	touching := ClipToBox([]Point{{10, 2}, {14, 2}, {14, 6}, {10, 6}}, window)
	require.Zero(t, PolygonArea(touching))
	require.NotEmpty(t, touching, "points on the border are inside")

	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		box := RotatedBox{random.Float64() * 10, random.Float64() * 10, 8, 3, random.Float64() * 6}
		corners := box.Corners()
		for _, p := range ClipToBox(corners[:], window) {
			require.True(t, p.X >= 0 && p.X <= 10 && p.Y >= 0 && p.Y <= 10)
		}
	}
}

func TestEnvelopeAndBox(t *testing.T) {
	require.Equal(t, Box{}, Envelope(nil))
	require.Equal(t, Box{-1, 2, 5, 7}, Envelope([]Point{{5, 2}, {-1, 7}}))
	require.Equal(t, 30.0, Box{-1, 2, 5, 7}.Area())
	require.Zero(t, Box{5, 2, -1, 7}.Area())
	require.Zero(t, Box{5, 7, -1, 2}.Area(), "two negative sides are not an area")
	require.Equal(t, Box{0, 2, 4, 6}, Box{-1, 2, 5, 7}.Clamp(4, 6))
	require.Equal(t, RotatedBox{}, TightRectangle(nil, 1))
}

func TestRotatedIoUWorkedNumbers(t *testing.T) {
	a, b := RotatedBox{50, 40, 60, 20, 0.3}, RotatedBox{55, 38, 50, 24, 0.1}
	near(t, 905.728553, RotatedIntersection(a, b))
	near(t, 1494.27145, 60*20+50*24-RotatedIntersection(a, b))
	near(t, 0.606133882, RotatedIoU(a, b))

	c, d := RotatedBox{10, 10, 8, 6, 0.7}, RotatedBox{12, 9, 7, 5, -0.4}
	near(t, 22.7822275, RotatedIntersection(c, d))
	near(t, 60.2177725, 8*6+7*5-RotatedIntersection(c, d))
	near(t, 0.378330625, RotatedIoU(c, d))

	near(t, 0.0526315789, RotatedIoU(RotatedBox{0, 0, 20, 2, 0}, RotatedBox{0, 0, 20, 2, math.Pi / 2}))
	near(t, 1.0/3, RotatedIoU(RotatedBox{0, 0, 4, 2, 0}, RotatedBox{2, 0, 4, 2, 0}))
	require.Zero(t, RotatedIoU(RotatedBox{0, 0, 4, 2, 0}, RotatedBox{4, 0, 4, 2, 0}), "a shared edge only")
}

func TestRotatedIoUProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	draw := func() RotatedBox {
		return RotatedBox{
			random.Float64() * 30, random.Float64() * 30,
			1 + random.Float64()*30, 1 + random.Float64()*30, random.Float64()*8 - 4,
		}
	}
	for range 2000 {
		a, b := draw(), draw()
		iou := RotatedIoU(a, b)
		require.True(t, iou >= 0 && iou <= 1)
		require.InDelta(t, iou, RotatedIoU(b, a), 1e-12)
		require.InDelta(t, 1, RotatedIoU(a, a.Canonical()), 1e-12)

		// Far from the origin the answer must be the same.
		a.CenterX, a.CenterY = a.CenterX+1<<24, a.CenterY+1<<24
		b.CenterX, b.CenterY = b.CenterX+1<<24, b.CenterY+1<<24
		require.InDelta(t, iou, RotatedIoU(a, b), 1e-7)
	}
}

func TestRotatedIoUOfUnmeasurableBoxesIsZero(t *testing.T) {
	good := RotatedBox{0, 0, 4, 2, 0}
	for _, bad := range []RotatedBox{
		{math.NaN(), 0, 4, 2, 0}, {0, math.Inf(1), 4, 2, 0}, {0, 0, math.Inf(1), 2, 0}, {0, 0, 4, math.NaN(), 0},
		{0, 0, 4, 2, math.Inf(-1)}, {0, 0, 0, 2, 0}, {0, 0, 4, -2, 0}, {0, 0, -4, -2, 0},
	} {
		require.Zero(t, RotatedIoU(good, bad))
		require.Zero(t, RotatedIoU(bad, good))
	}
}

func TestRotatedIoUDoesNotAllocate(t *testing.T) {
	a, b := RotatedBox{50, 40, 60, 20, 0.3}, RotatedBox{55, 38, 50, 24, 0.1}
	require.Zero(t, testing.AllocsPerRun(100, func() { RotatedIoU(a, b) }))
}
