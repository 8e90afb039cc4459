package data

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// The worked numbers of the data and evaluation specification, section 6.3.
func TestAffineWorkedNumbers(t *testing.T) {
	moved := affineAbout(640, 480, 10, 2, -1, 1.2, geometry.Point{X: 30, Y: -12})
	require.InDeltaSlice(t, []float64{1.18540655, -0.16710952, 10.7853367, 0.187749953, 1.18904602, -117.262631},
		[]float64{moved.xx, moved.xy, moved.x0, moved.yx, moved.yy, moved.y0}, 5e-7)
	center := moved.point(geometry.Point{X: 319.5, Y: 239.5})
	require.InDeltaSlice(t, []float64{349.5, 227.5}, []float64{center.X, center.Y}, 1e-9)

	target := Target{Labels: []int{0, 1}, Boxes: []geometry.Box{{X1: 400, Y1: 300, X2: 620, Y2: 460}, {X1: 500, Y1: 20, X2: 560, Y2: 60}}}
	mapped := target.mapped(moved.point, true)
	require.InDeltaSlice(t, []float64{408.077578, 314.551155, 695.604543, 546.103508}, boxValues(mapped.Boxes[0]), 5e-7)
	require.InDeltaSlice(t, []float64{593.462041, 0.393265792, 671.270815, 59.2201037}, boxValues(mapped.Boxes[1]), 5e-7)
	before := mapped.Clone().Boxes
	clipped, err := mapped.clipped(640, 480, true)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{408.077578, 314.551155, 640, 480}, boxValues(clipped.Boxes[0]), 5e-7)
	require.InDelta(t, 0.576339916, clipped.Boxes[0].Area()/before[0].Area(), 5e-9)
	require.InDelta(t, 0.598106823, clipped.Boxes[1].Area()/before[1].Area(), 5e-9)
}

func TestTransformInverse(t *testing.T) {
	moved := affineAbout(640, 480, 33, 12, -7, 0.7, geometry.Point{X: 30, Y: -12}).then(NewLetterbox(640, 480, 320, 320))
	p := geometry.Point{X: 123, Y: 45}
	back := moved.inverse().point(moved.point(p))
	require.InDeltaSlice(t, []float64{p.X, p.Y}, []float64{back.X, back.Y}, 1e-10)
}

func TestAffineDrawsInOrderAndRange(t *testing.T) {
	affine := Affine{Degrees: 10, Shear: 2, Scale: 0.5, Translate: 0.1}
	got := affine.draw(draw(3), 640, 480)
	source := draw(3)
	angle, shearX, shearY := source.uniform(-10, 10), source.uniform(-2, 2), source.uniform(-2, 2)
	scale := source.uniform(0.5, 1.5)
	move := geometry.Point{X: source.uniform(-0.1, 0.1) * 640, Y: source.uniform(-0.1, 0.1) * 480}
	require.Equal(t, affineAbout(640, 480, angle, shearX, shearY, scale, move), got)

	tiny := Affine{Scale: 1}
	source = draw(5)
	for range 3000 {
		require.GreaterOrEqual(t, tiny.draw(source, 64, 64).xx, leastScale)
	}
}

// Section 6.4: at least 2 x 2 pixels and a tenth of the area must be left.
func TestKeepRule(t *testing.T) {
	cases := []struct {
		name string
		box  geometry.Box
		keep bool
	}{
		{"inside", geometry.Box{X1: 10, Y1: 10, X2: 20, Y2: 20}, true},
		{"two pixels", geometry.Box{X1: 10, Y1: 10, X2: 12, Y2: 12}, true},
		{"too narrow", geometry.Box{X1: 10, Y1: 10, X2: 11.99, Y2: 40}, false},
		{"too low", geometry.Box{X1: 10, Y1: 10, X2: 40, Y2: 11.99}, false},
		{"a tenth", geometry.Box{X1: -90, Y1: 0, X2: 10, Y2: 50}, true},
		{"less than a tenth", geometry.Box{X1: -91, Y1: 0, X2: 10, Y2: 50}, false},
		{"outside", geometry.Box{X1: -30, Y1: 0, X2: -10, Y2: 50}, false},
		{"no area", geometry.Box{X1: 10, Y1: 10, X2: 10, Y2: 40}, false},
	}
	for _, c := range cases {
		clipped, err := (Target{Labels: []int{0}, Boxes: []geometry.Box{c.box}}).clipped(100, 100, true)
		require.NoError(t, err)
		require.Equal(t, c.keep, clipped.Len() == 1, c.name)
	}
}

func TestClippingByModality(t *testing.T) {
	target := everyModality()
	target.Rotated = nil
	clipped, err := target.clipped(250, 150, true)
	require.NoError(t, err)
	require.Equal(t, []geometry.Point{{X: 100, Y: 50}, {X: 250, Y: 50}, {X: 200, Y: 150}}, clipped.Polygons[0], "clamped point by point")
	require.Equal(t, geometry.Box{X1: 100, Y1: 50, X2: 250, Y2: 150}, clipped.Boxes[0])
	require.Equal(t, everyModality().Keypoints, clipped.Keypoints, "never clipped")
	require.Equal(t, everyModality().Visibility, clipped.Visibility)
	require.Equal(t, []bool{true}, clipped.Difficult)

	// Rotated boxes: section 3's worked clipping, on a canvas of 1024 pixels.
	rotated := geometry.RotatedBox{CenterX: 1040, CenterY: 500, Width: 120, Height: 40, Angle: 0.4}
	inside := geometry.RotatedBox{CenterX: 300, CenterY: 300, Width: 120, Height: 40, Angle: 0.4}
	oriented := Target{Labels: []int{1, 2}, Rotated: []geometry.RotatedBox{rotated, inside},
		Boxes: []geometry.Box{rotated.Envelope(), inside.Envelope()}}
	clipped, err = oriented.clipped(1024, 1024, true)
	require.NoError(t, err)
	cut := clipped.Rotated[0]
	require.InDeltaSlice(t, []float64{1008.26235, 486.581538, 51.0845935, 40, 0.4},
		[]float64{cut.CenterX, cut.CenterY, cut.Width, cut.Height, cut.Angle}, 5e-6)
	require.InDeltaSlice(t, []float64{976.947974, 458.21368, 1024, 514.949397}, boxValues(clipped.Boxes[0]), 5e-6)
	require.Equal(t, inside, clipped.Rotated[1], "untouched")

	gone := rotated
	gone.CenterX = 5000
	away, err := (Target{Labels: []int{1}, Rotated: []geometry.RotatedBox{gone}, Boxes: []geometry.Box{gone.Envelope()}}).clipped(1024, 1024, true)
	require.NoError(t, err)
	require.Zero(t, away.Len())
}

// A similarity maps a rotated box exactly.
func TestRotatedBoxesFollowTheMap(t *testing.T) {
	moved := affineAbout(200, 200, 20, 0, 0, 1.5, geometry.Point{X: 3})
	target := Target{Labels: []int{0}, Rotated: []geometry.RotatedBox{{CenterX: 80, CenterY: 90, Width: 40, Height: 20, Angle: 0.3}},
		Boxes: []geometry.Box{{X1: 1, Y1: 1, X2: 2, Y2: 2}}}
	got := target.mapped(moved.point, true)
	require.InDelta(t, 60, got.Rotated[0].Width, 1e-9)
	require.InDelta(t, 30, got.Rotated[0].Height, 1e-9)
	require.InDelta(t, 0.3+20*math.Pi/180, got.Rotated[0].Angle, 1e-12)
	require.InDeltaSlice(t, boxValues(got.Rotated[0].Envelope()), boxValues(got.Boxes[0]), 1e-9)
}
