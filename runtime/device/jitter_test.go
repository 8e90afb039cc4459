package device

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// toHSV is the hexcone conversion of channels in [0,1], hue in turns.
func toHSV(r, g, b float64) (hue, saturation, value float64) {
	value = max(r, g, b)
	chroma := value - min(r, g, b)
	if chroma == 0 {
		return 0, 0, value
	}
	switch value {
	case r:
		hue = math.Mod((g-b)/chroma+6, 6)
	case g:
		hue = (b-r)/chroma + 2
	default:
		hue = (r-g)/chroma + 4
	}
	return hue / 6, chroma / value, value
}

// jittered are the channels times 255 by the definition, in float64.
func jittered(pixel [3]uint8, hue, saturation, value float64) [3]float64 {
	h, s, v := toHSV(float64(pixel[0])/255, float64(pixel[1])/255, float64(pixel[2])/255)
	h = math.Mod(h+hue+2, 1)
	s, v = min(s*(1+saturation), 1), min(v*(1+value), 1)
	var out [3]float64
	for c, offset := range [3]float64{5, 3, 1} {
		k := math.Mod(offset+6*h, 6)
		out[c] = 255 * (v - v*s*max(0, min(k, 4-k, 1)))
	}
	return out
}

// The worked numbers of the data and evaluation specification, section 6.7: the
// colour (0.2, 0.6, 0.4) is (51, 153, 102) in codes, and (0, 0.45, 0.252) rounds to
// (0, 115, 64).
func TestJitterWorkedNumbers(t *testing.T) {
	h, s, v := toHSV(0.2, 0.6, 0.4)
	require.InDeltaSlice(t, []float64{0.416666667, 0.666666667, 0.6}, []float64{h, s, v}, 1e-9)
	exact := jittered([3]uint8{51, 153, 102}, 0.01, 0.5, -0.25)
	require.InDeltaSlice(t, []float64{0, 255 * 0.45, 255 * 0.252}, exact[:], 1e-9)
	r, g, b := NewJitter(0.01, 0.5, -0.25).Pixel(51, 153, 102)
	require.Equal(t, []uint8{0, 115, 64}, []uint8{r, g, b})
}

// Without gains every colour stays, a turn is none, and thirds of a turn exchange
// the channels.
func TestJitterKeepsColours(t *testing.T) {
	none, third, back, around := Jitter{Hue: 0}, NewJitter(1.0/3, 0, 0), NewJitter(-2.0/3, 0, 0), NewJitter(1, 0, 0)
	for code := range 1 << 24 {
		if code%7 != 0 {
			continue // every seventh colour, in a second
		}
		r, g, b := uint8(code), uint8(code>>8), uint8(code>>16)
		r2, g2, b2 := none.Pixel(r, g, b)
		if r != r2 || g != g2 || b != b2 {
			require.Equal(t, []uint8{r, g, b}, []uint8{r2, g2, b2})
		}
		r3, g3, b3 := third.Pixel(r, g, b)
		r4, g4, b4 := back.Pixel(r, g, b)
		r5, g5, b5 := around.Pixel(r, g, b)
		if [9]uint8{b, r, g, b, r, g, r, g, b} != [9]uint8{r3, g3, b3, r4, g4, b4, r5, g5, b5} {
			require.Equal(t, []uint8{b, r, g, b, r, g, r, g, b}, []uint8{r3, g3, b3, r4, g4, b4, r5, g5, b5})
		}
	}
}

// For every order of the channels, at the ends of the ranges and across the
// borders of the sextants, the codes are those of the definition, rounded.
func TestJitterIsTheDefinitionRounded(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	edges := [][3]uint8{{}, {255, 255, 255}, {255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {128, 128, 50}, {50, 128, 128}, {255, 255, 0}, {1, 0, 0}, {0, 1, 1}}
	for range 2000 {
		hue, saturation, value := 2*random.Float64()-1, 2*random.Float64()-1, 2*random.Float64()-1
		if random.IntN(2) == 0 { // the ranges of the recipe
			hue, saturation, value = 0.015*hue, 0.7*saturation, 0.4*value
		}
		j := NewJitter(hue, saturation, value)
		pixels := append([][3]uint8(nil), edges...)
		for range 100 {
			pixels = append(pixels, [3]uint8{uint8(random.UintN(256)), uint8(random.UintN(256)), uint8(random.UintN(256))})
		}
		for _, p := range pixels {
			want := jittered(p, hue, saturation, value)
			changed := p
			j.Apply(changed[:])
			for c := range 3 {
				require.InDelta(t, want[c], changed[c], 0.5+1.0/128, "%v by %v %v %v", p, hue, saturation, value)
			}
		}
	}
}

// BenchmarkJitter changes an image of 640 x 640 pixels whose colours vary as slowly
// as those of a photograph.
func BenchmarkJitter(b *testing.B) {
	pixels := make([]uint8, 3*640*640)
	for p := range 640 * 640 {
		x, y := p%640, p/640
		pixels[3*p], pixels[3*p+1], pixels[3*p+2] = uint8(x/3+y/9), uint8(y/3), uint8((x+y)/6)
	}
	j := NewJitter(0.01, 0.3, -0.2)
	b.SetBytes(int64(len(pixels)))
	for b.Loop() {
		j.Apply(pixels)
	}
}
