package objective

import (
	"math"
	"testing"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/stretchr/testify/require"
)

func TestGridOfACanvas(t *testing.T) {
	grid := canvas(t, 64, 64)
	require.Equal(t, 84, grid.Anchors())
	for anchor, want := range map[int][3]float64{
		0: {4, 4, 8}, 1: {12, 4, 8}, 63: {60, 60, 8}, 64: {8, 8, 16}, 80: {16, 16, 32}, 83: {48, 48, 32},
	} {
		require.Equal(t, want, [3]float64{grid.X[anchor], grid.Y[anchor], grid.Stride[anchor]}, anchor)
	}
	require.Equal(t, 8400, canvas(t, 640, 640).Anchors())
	require.Equal(t, 21504, canvas(t, 1024, 1024).Anchors())

	tall := canvas(t, 96, 32)
	require.Equal(t, [2]float64{4, 12}, [2]float64{tall.X[4], tall.Y[4]}, "four columns, then the second row")
}

func TestCanvasSidesAreMultiplesOfTheLargestStride(t *testing.T) {
	for _, side := range [][2]int{{0, 64}, {64, 0}, {-32, 64}, {48, 64}, {64, 100}} {
		_, err := CanvasLevels(side[0], side[1])
		require.ErrorContains(t, err, "multiples of 32")
	}
}

func TestNearVisitsEveryAnchorOfAWindow(t *testing.T) {
	grid := canvas(t, 96, 64)
	for _, window := range []geometry.Box{
		xyxy(4, 4, 4, 4), xyxy(12, 20, 20, 28), xyxy(-100, -100, 200, 200), xyxy(3.9, 3.9, 4.1, 4.1), xyxy(-1e300, 10, 1e300, 30),
		xyxy(70, 10, 90, 30), xyxy(-90, 10, -70, 30),
	} {
		visited := map[int]bool{}
		previous := -1
		grid.near(window, func(anchor int) {
			require.Greater(t, anchor, previous)
			previous, visited[anchor] = anchor, true
		})
		for anchor := range grid.Anchors() {
			x, y := grid.X[anchor], grid.Y[anchor]
			if window.X1 <= x && x <= window.X2 && window.Y1 <= y && y <= window.Y2 {
				require.True(t, visited[anchor], "%v misses anchor %d", window, anchor)
			}
		}
	}
	visits := 0
	canvas(t, 1024, 1024).near(geometry.Box{X1: 500, Y1: 500, X2: 516, Y2: 516}, func(int) { visits++ })
	require.Less(t, visits, 50, "the cost is that of the window")
}

func TestDecoders(t *testing.T) {
	grid := NewGrid(Level{Rows: 5, Columns: 6, Stride: 8})
	const anchor = 4*6 + 5
	require.Equal(t, [2]float64{44, 36}, [2]float64{grid.X[anchor], grid.Y[anchor]})

	ltrb := []float64{2.2, 0.7, 1.9, 0.8}
	box := DecodeBox(grid, anchor, ltrb)
	nearAll(t, []float64{26.4, 30.4, 59.2, 42.4}, []float64{box.X1, box.Y1, box.X2, box.Y2})
	rotated := DecodeRotated(grid, anchor, ltrb, 0.35)
	nearAll(t, []float64{42.8, 36.4, 32.8, 12, 0.35}, fields(rotated))

	upright := DecodeRotated(grid, anchor, []float64{0.5, 2, 0.5, 2}, 0.2)
	nearAll(t, []float64{44, 36, 32, 8, 0.2 + math.Pi/2}, fields(upright))
	inverted := DecodeBox(grid, anchor, []float64{-1, -1, -1, -1})
	require.Equal(t, geometry.Box{X1: 52, Y1: 44, X2: 36, Y2: 28}, inverted)

	require.Equal(t, geometry.Point{X: 48, Y: 28}, DecodePoint(grid, anchor, 0.5, -1.0))
}

func fields(box geometry.RotatedBox) []float64 {
	return []float64{box.CenterX, box.CenterY, box.Width, box.Height, box.Angle}
}
