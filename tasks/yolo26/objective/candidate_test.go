package objective

import (
	"math"
	"testing"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/stretchr/testify/require"
)

func candidatesOf(t *testing.T, grid *Grid, box geometry.Box, rotated *geometry.RotatedBox) []int {
	t.Helper()
	truth, err := Pad([][]int{{0}}, [][]geometry.Box{{box}}, 1)
	require.NoError(t, err)
	if rotated != nil {
		require.NoError(t, truth.SetRotated([][]geometry.RotatedBox{{*rotated}}))
	}
	found := []int{}
	OneToManyAssigner().candidates(grid, truth, 0, func(anchor int) { found = append(found, anchor) })
	return found
}

// Worked example (d).
func TestSmallTargetSurrogate(t *testing.T) {
	small := NewGrid(Level{4, 4, 8})
	for _, c := range []struct {
		grid           *Grid
		box, surrogate geometry.Box
		want           []int
	}{
		{small, xyxy(5, 5, 11, 11), xyxy(0, 0, 16, 16), []int{0, 1, 4, 5}},
		{small, xyxy(2, 5, 8, 25), xyxy(-3, 5, 13, 25), []int{4, 5, 8, 9}},
		{small, xyxy(29, 29, 31, 31), xyxy(22, 22, 38, 38), []int{15}},
		{canvas(t, 64, 64), xyxy(20, 10, 28, 14), xyxy(20, 4, 28, 20), []int{2, 3, 10, 11, 18, 19, 65}},
	} {
		require.Equal(t, c.surrogate, OneToManyAssigner().surrogate(c.box))
		require.Equal(t, c.want, candidatesOf(t, c.grid, c.box, nil))
	}
}

func TestSurrogateLeavesExactlyEightAlone(t *testing.T) {
	box := geometry.Box{X1: 1, Y1: 1, X2: 9, Y2: 8.5}
	require.Equal(t, geometry.Box{X1: 1, Y1: -3.25, X2: 9, Y2: 12.75}, OneToManyAssigner().surrogate(box))
	require.Equal(t, rbox(1, 1, 16, 8, 0.3), OneToManyAssigner().rotatedSurrogate(rbox(1, 1, 7.9, 8, 0.3)))
	require.Equal(t, rbox(1, 1, 16, 8, 0.3+math.Pi/2), OneToManyAssigner().rotatedSurrogate(rbox(1, 1, 8, 7.9, 0.3)))
}

func TestCandidatesAreClosedOnAllSides(t *testing.T) {
	grid := NewGrid(Level{4, 4, 8})
	require.Equal(t, []int{0, 1, 2, 4, 5, 6}, candidatesOf(t, grid, geometry.Box{X1: 4, Y1: 4, X2: 20, Y2: 12}, nil))
}

// Worked example (e), and the lost guarantee of section 1.2.
func TestOrientedCandidates(t *testing.T) {
	for _, c := range []struct {
		box, surrogate geometry.RotatedBox
		want           []int
	}{
		{rbox(30, 30, 24, 6, 0.5), rbox(30, 30, 24, 16, 0.5), []int{19, 26, 27, 28, 35, 36, 69}},
		{rbox(30, 30, 10, 4, 0), rbox(30, 30, 16, 10, math.Pi/2), []int{27, 35}},
		{rbox(32, 32, 10, 10, math.Pi/4), rbox(32, 32, 10, 10, -math.Pi/4), []int{}},
		{rbox(32, 32, 11.31, 11.31, math.Pi/4), rbox(32, 32, 11.31, 11.31, -math.Pi/4), []int{}},
		{rbox(32, 32, 11.32, 11.32, math.Pi/4), rbox(32, 32, 11.32, 11.32, -math.Pi/4), []int{27, 28, 35, 36}},
	} {
		require.Equal(t, c.surrogate, OneToManyAssigner().rotatedSurrogate(c.box))
		// The axis-aligned box covers everything and must not matter.
		require.Equal(t, c.want, candidatesOf(t, canvas(t, 64, 64), geometry.Box{X2: 64, Y2: 64}, &c.box))
	}
}

// Section 1.2: an axis-aligned box centred on the canvas always has a candidate.
func TestEveryAxisAlignedBoxOnTheCanvasHasACandidate(t *testing.T) {
	grid := canvas(t, 64, 64)
	for x := 0.0; x <= 64; x += 1.7 {
		for y := 0.0; y <= 64; y += 2.3 {
			for _, side := range [][2]float64{{0, 0}, {7.99, 1}, {8, 8}, {3, 20}} {
				box := geometry.Box{X1: x - side[0]/2, Y1: y - side[1]/2, X2: x + side[0]/2, Y2: y + side[1]/2}
				require.NotEmpty(t, candidatesOf(t, grid, box, nil), box)
			}
		}
	}
}

// The search window must not lose an anchor that the closed test takes at a
// corner, where rounding decides either way.
func TestOrientedCandidatesEqualTheFullScan(t *testing.T) {
	grid := canvas(t, 64, 64)
	inside, outside := 0, 0
	for degree := range 720 {
		angle := float64(degree) * math.Pi / 360
		sin, cos := math.Sincos(angle)
		const corner = 27
		box := rbox(grid.X[corner]-12*cos+5*sin, grid.Y[corner]-12*sin-5*cos, 24, 10, angle).Canonical()
		want := []int{}
		for anchor := range grid.Anchors() {
			if box.Contains(grid.X[anchor], grid.Y[anchor]) {
				want = append(want, anchor)
			}
		}
		if box.Contains(grid.X[corner], grid.Y[corner]) {
			inside++
		} else {
			outside++
		}
		require.Equal(t, want, candidatesOf(t, grid, geometry.Box{}, &box), box)
	}
	require.True(t, inside > 100 && outside > 100, "%d inside, %d outside", inside, outside)
}
