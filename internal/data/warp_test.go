package data

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// warpSlow is the warp by its definition: one pixel at a time, in float64.
func warpSlow(c canvas, back transform, width, height int) []float64 {
	at := func(x, y, channel int) float64 { return float64(c.at(x, y)[channel]) / 255 }
	var out []float64
	for y := range height {
		for x := range width {
			p := back.point(geometry.Point{X: float64(x), Y: float64(y)})
			x0, y0 := math.Floor(p.X), math.Floor(p.Y)
			fx, fy := p.X-x0, p.Y-y0
			for channel := range 3 {
				v := func(dx, dy int) float64 { return at(int(x0)+dx, int(y0)+dy, channel) }
				out = append(out, (v(0, 0)*(1-fx)+v(1, 0)*fx)*(1-fy)+(v(0, 1)*(1-fx)+v(1, 1)*fx)*fy)
			}
		}
	}
	return out
}

// warpPlain is the warp in the arithmetic of the fast one, without its shortcuts.
func warpPlain(c canvas, back transform, width, height int) []float32 {
	var out []float32
	for y := range height {
		startX, startY := float64(back.xy*float64(y))+back.x0, float64(back.yy*float64(y))+back.y0
		for x := range width {
			px, py := float64(back.xx*float64(x))+startX, float64(back.yx*float64(x))+startY
			x0, y0 := math.Floor(px), math.Floor(py)
			fx, fy := float32(px-x0), float32(py-y0)
			for channel := range 3 {
				mix := func(a, b, weight float32) float32 { return a + float32(weight*(b-a)) }
				at := func(dx, dy int) float32 { return float32(c.at(int(x0)+dx, int(y0)+dy)[channel]) }
				value := mix(mix(at(0, 0), at(1, 0), fx), mix(at(0, 1), at(1, 1), fx), fy)
				out = append(out, float32(value*(1.0/255)))
			}
		}
	}
	return out
}

// twoImages is a canvas of 40 x 40 pixels with grey around and between images.
func twoImages() canvas {
	left, _ := quadrant(rasterOf(drawing(20, 25, 1)), 0, 15, 17, 40)
	right, _ := quadrant(rasterOf(drawing(31, 9, 2)), 3, 15, 17, 40)
	return canvas{width: 40, height: 40, images: []placed{left, right}}
}

func TestWarpEqualsItsDefinition(t *testing.T) {
	picture := twoImages()
	for name, back := range map[string]transform{
		"identity":  {xx: 1, yy: 1},
		"half":      {xx: 2, yy: 2, x0: -3.25, y0: 0.5},
		"larger":    {xx: 0.4, yy: 0.7, x0: -5, y0: 12},
		"far away":  {xx: 1, yy: 1, x0: 1e9, y0: -1e9},
		"turned":    affineAbout(40, 40, 30, 5, -3, 0.8, geometry.Point{X: 2, Y: -1}).inverse(),
		"turned up": affineAbout(40, 40, 1e-7, 0, 0, 1, geometry.Point{}).inverse(),
	} {
		got := valuesOf(picture.warp(back, 24, 22))
		want := warpSlow(picture, back, 24, 22)
		require.Len(t, got, len(want), name)
		for i := range want {
			require.InDelta(t, want[i], float64(got[i]), 2e-6, "%s at %d", name, i)
		}
	}
}

// valuesOf draws an image without rounding it to codes.
func valuesOf(m *Image) []float32 {
	var out []float32
	paint := m.painter()
	for y := range m.Height {
		row := make([]float32, 3*m.Width)
		from, to := paint(y, row)
		fill(row[:3*from], padding)
		fill(row[3*to:], padding)
		out = append(out, row...)
	}
	return out
}

// Every bit of every value is that of the plain formula, and every code that of
// the plain rounding, for mosaics of all shapes and maps of all kinds.
func TestWarpEqualsThePlainFormula(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	for round := range 300 {
		side := 16 + random.IntN(40)
		centerX, centerY := side/2+random.IntN(side), side/2+random.IntN(side)
		picture := canvas{width: 2 * side, height: 2 * side}
		for i := range 4 {
			raster := rasterOf(drawing(1+random.IntN(2*side), 1+random.IntN(2*side), round+i))
			place, _ := quadrant(raster, i, centerX, centerY, 2*side)
			picture.images = append(picture.images, place)
		}
		if round%5 == 0 {
			picture = whole(picture.images[0].raster)
		}
		affine := Affine{Scale: 0.9, Translate: 0.4}
		if round%2 == 0 {
			affine.Degrees, affine.Shear = 180, 30
		}
		moved := affine.draw(&Draw{Random: random}, picture.width, picture.height)
		back := moved.then(NewLetterbox(picture.width, picture.height, side, side)).inverse()
		if round%7 == 0 { // positions on the grid, where weights are 0
			back = transform{xx: float64(1 + round%3), yy: float64(1 + round%2), x0: float64(round%9 - 4), y0: float64(round%11 - 5)}
		}
		got, want := picture.warp(back, side, side), warpPlain(picture, back, side, side)
		if values := valuesOf(got); !equalBits(values, want) {
			require.Equal(t, want, values, "round %d", round)
		}
		for i, code := range got.Codes() {
			if rounded := math.RoundToEven(float64(float32(want[i] * 255))); float64(code) != rounded {
				require.Equal(t, rounded, code, "round %d at %d", round, i)
			}
		}
	}
}

func equalBits(a, b []float32) bool {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// What the division of a crossing gives is put right where rounding moved it.
func TestAxisWithin(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 7))
	for range 20000 {
		a := axis{factor: (random.Float64() - 0.5) * math.Pow(10, float64(random.IntN(20)-16)), start: 50 * (random.Float64() - 0.5)}
		switch random.IntN(3) {
		case 0:
			a = axis{float64(random.IntN(5) - 2), float64(random.IntN(40) - 20)}
		case 1: // a slope that rounding all but hides
			start := float64(random.IntN(40) - 20)
			a = axis{(random.Float64() - 0.5) * 1e-14, math.Nextafter(start, start+float64(random.IntN(3)-1))}
		}
		low := float64(random.IntN(40) - 20)
		high := low + float64(random.IntN(20))
		got := a.within(low, high, 30)
		for x := range 30 {
			inside := a.at(x) >= low && a.at(x) < high
			require.Equal(t, inside, x >= got.from && x < got.to, "%v %v %v %d", a, low, high, x)
		}
	}
}
