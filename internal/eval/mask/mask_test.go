package mask_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// rows draws a bitmap with one string per row.
func rows(b *mask.Bitmap) []string {
	var lines []string
	for row := range b.Height {
		line := make([]byte, b.Width)
		for column := range line {
			line[column] = '.'
			if b.At(row, column) {
				line[column] = '#'
			}
		}
		lines = append(lines, string(line))
	}
	return lines
}

func rectangle(x1, y1, x2, y2 float64) []geometry.Point {
	return []geometry.Point{{X: x1, Y: y1}, {X: x2, Y: y1}, {X: x2, Y: y2}, {X: x1, Y: y2}}
}

func TestRasteriseWorkedRings(t *testing.T) {
	box := []string{".....", ".###.", ".###.", "....."}
	for _, test := range []struct {
		name          string
		ring          []geometry.Point
		width, height int
		want          []string
	}{
		{"integer rectangle", rectangle(1, 1, 4, 3), 5, 4, box},
		{"half rectangle", rectangle(0.5, 0.5, 3.5, 2.5), 5, 4, box},
		{"triangle", []geometry.Point{{X: 1, Y: 1}, {X: 6, Y: 2}, {X: 3, Y: 5.5}}, 8, 7, []string{
			"........", "........", "..####..", "..####..", "...##...", "...#....", "........",
		}},
		{"beyond the canvas", rectangle(-3, -3, 9, 9), 2, 2, []string{"##", "##"}},
		{"no number", []geometry.Point{{X: math.NaN(), Y: -1}, {X: 1, Y: 3}, {X: math.Inf(1), Y: 3}}, 2, 1, []string{".."}},
		{"no ring", nil, 2, 1, []string{".."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, rows(mask.Rasterise(test.ring, test.width, test.height)))
		})
	}
}

// Centres of pixels: the left and top ones on an edge are in, the others out.
func TestRasteriseCentres(t *testing.T) {
	require.Equal(t, []string{".....", ".###.", ".###.", "....."}, rows(mask.RasteriseCentres(rectangle(1, 1, 4, 3), 5, 4)))
	require.Equal(t, []string{"###..", "###..", ".....", "....."}, rows(mask.RasteriseCentres(rectangle(0.5, 0.5, 3.5, 2.5), 5, 4)))
	require.Equal(t, []string{"##", "##"}, rows(mask.RasteriseCentres(rectangle(-3, -3, 9, 9), 2, 2)))
	triangle := []geometry.Point{{X: 0, Y: 0}, {X: 4, Y: 0}, {X: 0, Y: 4}}
	require.Equal(t, []string{"###.", "##..", "#...", "...."}, rows(mask.RasteriseCentres(triangle, 4, 4)))
}

// literal is the crossing test of section 7, pixel by pixel.
func literal(ring []geometry.Point, width, height int) *mask.Bitmap {
	bitmap := mask.New(width, height)
	for row := range height {
		for column := range width {
			x, y, inside := float64(column), float64(row), false
			for i, current := range ring {
				previous := ring[(i+len(ring)-1)%len(ring)]
				if (current.Y > y) != (previous.Y > y) &&
					x < (previous.X-current.X)*(y-current.Y)/(previous.Y-current.Y)+current.X {
					inside = !inside
				}
			}
			if inside {
				bitmap.Set(row, column)
			}
		}
	}
	return bitmap
}

func TestRasteriseEqualsPixelTest(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	filled := 0
	for range 300 {
		ring := make([]geometry.Point, 3+random.IntN(9))
		for i := range ring {
			ring[i] = geometry.Point{X: random.Float64()*40 - 8, Y: random.Float64()*30 - 6}
			if random.IntN(3) == 0 { // vertices on the sampling points
				ring[i] = geometry.Point{X: float64(random.IntN(24)), Y: float64(random.IntN(18))}
			}
		}
		want := literal(ring, 24, 18)
		require.Equal(t, rows(want), rows(mask.Rasterise(ring, 24, 18)))
		filled += want.Area()
	}
	require.Positive(t, filled)
}

func TestBitmapCounts(t *testing.T) {
	a, b := mask.Rasterise(rectangle(0, 0, 20, 10), 30, 15), mask.Rasterise(rectangle(10, 5, 30, 15), 30, 15)
	require.Equal(t, 200, a.Area())
	require.Equal(t, 200, b.Area())
	common, err := a.Intersection(b)
	require.NoError(t, err)
	require.Equal(t, 50, common)
	require.NoError(t, a.Add(b))
	require.Equal(t, 350, a.Area())

	_, err = a.Intersection(mask.New(15, 30))
	require.EqualError(t, err, "masks of 30 x 15 and 15 x 30 pixels; masks meet on one canvas only")
	require.Error(t, a.Add(mask.New(15, 30)))
}
