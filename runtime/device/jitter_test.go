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
	require.InDeltaSlice(t, []float64{0.426666667, 1, 0.45}, []float64{h + 0.01, min(s*1.5, 1), v * 0.75}, 1e-9)
	exact := jittered([3]uint8{51, 153, 102}, 0.01, 0.5, -0.25)
	require.InDeltaSlice(t, []float64{0, 255 * 0.45, 255 * 0.252}, exact[:], 1e-9)
	r, g, b := NewJitter(0.01, 0.5, -0.25).Colors().Pixel(51, 153, 102)
	require.Equal(t, []uint8{0, 115, 64}, []uint8{r, g, b})
}

// Without gains every colour stays, a turn is none, and thirds of a turn exchange
// the channels.
func TestJitterKeepsColours(t *testing.T) {
	none, around := Jitter{}.Colors(), NewJitter(1, 0, 0).Colors()
	third, back := NewJitter(1.0/3, 0, 0).Colors(), NewJitter(-2.0/3, 0, 0).Colors()
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

// plainPixel is the definition in whole numbers, channel by channel and without
// anything worked out before: what every back end computes.
func plainPixel(j Jitter, r, g, b uint8) [3]uint8 {
	high, low := max(r, g, b), min(r, g, b)
	value := min(int64(high)*int64(oneGain+j.Value), 255*oneGain)
	saturation := int64(high-low) * reciprocals[high] * int64(oneGain+j.Saturation) / oneGain
	chroma := value * min(saturation, oneFraction) / oneFraction
	var hue int32
	scale := int32(reciprocals[high-low])
	switch {
	case high == low:
	case high == r:
		hue = (int32(g) - int32(b)) * scale
	case high == g:
		hue = (int32(b)-int32(r))*scale + 2*oneFraction
	default:
		hue = (int32(r)-int32(g))*scale + 4*oneFraction
	}
	var out [3]uint8
	for c, offset := range [3]int32{5, 3, 1} {
		place := (hue + j.Hue + offset*oneFraction + 2*circle) % circle
		away := min(max(min(place, 4*oneFraction-place), 0), oneFraction)
		out[c] = uint8(code(value - chroma*int64(away)/oneFraction))
	}
	return out
}

// What is worked out before and what is left out changes no code, at the ends of
// all ranges too.
func TestColorsEqualThePlainFormula(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 2))
	ends := []float64{-1, 0, 1}
	for round := range 300 {
		j := NewJitter(2*random.Float64()-1, 2*random.Float64()-1, 2*random.Float64()-1)
		if round < 27 {
			j = NewJitter(ends[round%3], ends[round/3%3], ends[round/9])
		}
		var pixels []uint8
		var want []uint8
		for range 2000 {
			p := [3]uint8{uint8(random.UintN(256)), uint8(random.UintN(256)), uint8(random.UintN(256))}
			switch random.IntN(4) {
			case 0: // equal channels, and runs of one colour
				p[random.IntN(3)] = p[random.IntN(3)]
			case 1:
				copy(p[:], pixels[max(0, len(pixels)-3):])
			}
			changed := plainPixel(j, p[0], p[1], p[2])
			pixels, want = append(pixels, p[:]...), append(want, changed[:]...)
		}
		j.Apply(pixels)
		require.Equal(t, want, pixels, "%+v", j)
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
	changed := make([]uint8, len(pixels))
	for b.Loop() {
		copy(changed, pixels) // what was changed a hundred times is black
		j.Apply(changed)
	}
}
