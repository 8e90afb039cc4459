package geometry

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// near is half a unit in the ninth significant digit, the precision of the
// worked numbers.
func near(t *testing.T, want, got float64) {
	t.Helper()
	require.InDelta(t, want, got, math.Max(1, math.Abs(want))*1e-8)
}

func nearBox(t *testing.T, want, got RotatedBox) {
	t.Helper()
	near(t, want.CenterX, got.CenterX)
	near(t, want.CenterY, got.CenterY)
	near(t, want.Width, got.Width)
	near(t, want.Height, got.Height)
	near(t, want.Angle, got.Angle)
}

func TestCanonicalWorkedNumbers(t *testing.T) {
	cases := []struct{ in, out RotatedBox }{
		{RotatedBox{10, 10, 4, 8, 0}, RotatedBox{10, 10, 8, 4, 1.57079633}},
		{RotatedBox{0, 0, 6, 3, 2.5}, RotatedBox{0, 0, 6, 3, -0.641592654}},
		{RotatedBox{0, 0, 3, 3, 1.2}, RotatedBox{0, 0, 3, 3, -0.370796327}},
		{RotatedBox{0, 0, 3, 6, -1}, RotatedBox{0, 0, 6, 3, 0.570796327}},
		{RotatedBox{0, 0, 6, 3, 3 * math.Pi / 4}, RotatedBox{0, 0, 6, 3, -math.Pi / 4}},
		{RotatedBox{5, 5, 3, 7, 100}, RotatedBox{5, 5, 7, 3, 1.03983141}},
		{RotatedBox{0, 0, -4, -2, 0}, RotatedBox{0, 0, -2, -4, 1.57079633}},
	}
	for _, c := range cases {
		nearBox(t, c.out, c.in.Canonical())
	}
}

func TestCanonicalIsIdempotentBitForBit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ends := []float64{
		-math.Pi / 4, math.Pi / 4, 3 * math.Pi / 4, -3 * math.Pi / 4, 5 * math.Pi / 4, math.Pi,
		7 * math.Pi / 4, 1e6 * math.Pi, 1e15, -1e17, 1e300,
	}
	check := func(r RotatedBox) {
		once := r.Canonical()
		require.Equal(t, once, once.Canonical())
		require.GreaterOrEqual(t, once.Width, once.Height)
		require.GreaterOrEqual(t, once.Angle, -math.Pi/4)
		limit := 3 * math.Pi / 4
		if once.Width == once.Height {
			limit = math.Pi / 4
		}
		require.Less(t, once.Angle, limit)
	}
	for _, extents := range [][2]float64{{4, 2}, {2, 4}, {3, 3}} {
		for _, end := range ends {
			below, above := end, end
			for range 20 {
				check(RotatedBox{0, 0, extents[0], extents[1], below})
				check(RotatedBox{0, 0, extents[0], extents[1], above})
				below, above = math.Nextafter(below, math.Inf(-1)), math.Nextafter(above, math.Inf(1))
			}
		}
		for range 2000 {
			check(RotatedBox{0, 0, extents[0], extents[1], (random.Float64() - 0.5) * 200})
		}
	}
}

func TestCornersWorkedNumbers(t *testing.T) {
	want := [4]Point{
		{15.9330685, 9.92949036}, {26.4640592, 15.6825968},
		{24.0669315, 20.0705096}, {13.5359408, 14.3174032},
	}
	corners := RotatedBox{20, 15, 12, 5, 0.5}.Corners()
	for i, corner := range corners {
		near(t, want[i].X, corner.X)
		near(t, want[i].Y, corner.Y)
	}
	near(t, 60, PolygonArea(corners[:]))
}

func TestContainsIsClosed(t *testing.T) {
	box := RotatedBox{10, 20, 8, 4, 0}
	require.True(t, box.Contains(14, 22))
	require.True(t, box.Contains(6, 18))
	require.False(t, box.Contains(math.Nextafter(14, 15), 22))
	require.False(t, box.Contains(14, math.Nextafter(22, 23)))

	turned := RotatedBox{20, 15, 12, 5, 0.5}
	require.True(t, turned.Contains(25, 17))
	require.False(t, turned.Contains(25, 12), "inside the envelope but outside the rectangle")
	envelope := turned.Envelope()
	near(t, 13.5359408, envelope.X1)
	near(t, 9.92949036, envelope.Y1)
	near(t, 26.4640592, envelope.X2)
	near(t, 20.0705096, envelope.Y2)
}

func TestFitQuadrilateralWorkedNumbers(t *testing.T) {
	a, b, c, d := Point{1, 1}, Point{5, 2}, Point{4.5, 4.1}, Point{0.4, 3}
	nearBox(t, RotatedBox{2.725, 2.525, 4.18405134, 2.12338231, 0.253674096}, FitQuadrilateral([4]Point{a, b, c, d}))
	near(t, 0.262119841, FitQuadrilateral([4]Point{b, c, d, a}).Angle)
	near(t, 0.253674096, FitQuadrilateral([4]Point{d, c, b, a}).Angle)
	nearBox(t, RotatedBox{3, 2, 4, 2, 0}, FitQuadrilateral([4]Point{{1, 1}, {5, 1}, {5, 3}, {1, 3}}))
}

func TestFitQuadrilateralRestoresRectangles(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		box := RotatedBox{
			random.Float64() * 1000, random.Float64() * 1000,
			20 + random.Float64()*30, 1 + random.Float64()*18, random.Float64()*20 - 10,
		}.Canonical()
		corners := box.Corners()
		for start := range 4 {
			nearBox(t, box, FitQuadrilateral([4]Point{
				corners[start], corners[(start+1)%4], corners[(start+2)%4], corners[(start+3)%4],
			}))
		}
	}
}
