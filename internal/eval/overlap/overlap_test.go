package overlap_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/eval/overlap"
	"github.com/reprise-ml/reprise/internal/geometry"
)

func TestIoUWorkedBoxes(t *testing.T) {
	a := geometry.Box{X1: 10, Y1: 10, X2: 50, Y2: 50}
	for _, test := range []struct {
		name string
		b    geometry.Box
		want float64
	}{
		{"near", geometry.Box{X1: 12, Y1: 11, X2: 52, Y2: 49}, 0.861575179},
		{"corner", geometry.Box{X1: 40, Y1: 40, X2: 90, Y2: 90}, 0.025},
		{"itself", a, 1},
		{"shared edge", geometry.Box{X1: 50, Y1: 10, X2: 60, Y2: 50}, 0},
		{"no width", geometry.Box{X1: 30, Y1: 30, X2: 30, Y2: 60}, 0},
		{"inverted", geometry.Box{X1: 50, Y1: 50, X2: 10, Y2: 10}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.InDelta(t, test.want, overlap.IoU(a, test.b), 1e-9)
			require.Equal(t, overlap.IoU(a, test.b), overlap.IoU(test.b, a))
		})
	}
}

// The cheap refusals must never hide an overlap at or above the floor.
func TestRotatedIoUEqualsExactFromFloor(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	box := func() geometry.RotatedBox {
		return geometry.RotatedBox{
			CenterX: random.Float64() * 30,
			CenterY: random.Float64() * 30,
			Width:   random.Float64()*30 - 1,
			Height:  random.Float64()*20 - 1,
			Angle:   random.Float64()*8 - 4,
		}
	}
	above, refused := 0, 0
	for range 20000 {
		a, b, floor := box(), box(), []float64{0.001, 0.05, 0.3, 0.7}[random.IntN(4)]
		exact := geometry.RotatedIoU(a, b)
		switch got := overlap.RotatedIoU(a, b, floor); {
		case exact >= floor:
			require.Equal(t, exact, got, "%v %v", a, b)
			above++
		case got == 0 && exact > 0:
			refused++
		default:
			require.Equal(t, exact, got)
		}
	}
	require.Greater(t, above, 500)
	require.Greater(t, refused, 500)
}

func TestRotatedIoUOfBrokenBoxes(t *testing.T) {
	good := geometry.RotatedBox{CenterX: 5, CenterY: 5, Width: 4, Height: 2}
	require.InDelta(t, 1, overlap.RotatedIoU(good, good, 0.7), 1e-15)
	for _, broken := range []geometry.RotatedBox{
		{CenterX: 5, CenterY: 5, Width: -4, Height: -2},
		{CenterX: 5, CenterY: 5, Width: 4, Height: -2},
		{CenterX: math.NaN(), CenterY: 5, Width: 4, Height: 2},
		{CenterX: 5, CenterY: 5, Width: math.Inf(1), Height: 2},
	} {
		require.Zero(t, overlap.RotatedIoU(good, broken, 0.7))
		require.Zero(t, overlap.RotatedIoU(broken, broken, 0.7))
	}
}
