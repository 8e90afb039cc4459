package device

import (
	"fmt"
	"math"
)

// Jitter changes the colours of one image: the hue by an addition, saturation and
// value by a factor, in the hexcone model of HSV (YOLO26 specification, data and
// evaluation section 6.7). The zero Jitter changes nothing.
//
// Gains and pixels are whole numbers, so that every device gives the same codes.
type Jitter struct {
	// Hue is added, in sixths of a turn times 2^24.
	Hue int32
	// Saturation and Value multiply by 1 + gain; the fields are gains times 2^16.
	Saturation, Value int32
}

// One in the two fixed-point forms of a jitter.
const (
	oneFraction = 1 << 24 // of positions on the hue circle, saturations and chromas
	oneGain     = 1 << 16 // of factors and of what is below one 8-bit code
)

// NewJitter rounds gains: hue in turns, saturation and value as parts, all from -1
// to 1.
func NewJitter(hue, saturation, value float64) Jitter {
	return Jitter{
		Hue:        int32(math.RoundToEven(6 * oneFraction * hue)),
		Saturation: int32(math.RoundToEven(oneGain * saturation)),
		Value:      int32(math.RoundToEven(oneGain * value)),
	}
}

// Apply changes 8-bit pixels, RGB after RGB, in place. The result is the exact one
// rounded to a code, but for cases within 2^-7 of half a code.
func (j Jitter) Apply(pixels []uint8) {
	if j == (Jitter{}) {
		return
	}
	for ; len(pixels) >= 3; pixels = pixels[3:] {
		p := (*[3]uint8)(pixels)
		p[0], p[1], p[2] = j.Pixel(p[0], p[1], p[2])
	}
}

// Pixel changes one colour. A channel is the value less the chroma times how far
// the hue is from its own third of the circle.
func (j Jitter) Pixel(r, g, b uint8) (uint8, uint8, uint8) {
	high, low := max(r, g, b), min(r, g, b)
	value := min(uint64(high)*uint64(oneGain+j.Value), 255*oneGain)
	if high == low {
		grey := code(value)
		return grey, grey, grey
	}
	saturation := uint64(high-low) * reciprocals[high] * uint64(oneGain+j.Saturation) / oneGain
	chroma := value * min(saturation, oneFraction) / oneFraction
	hue := hueOf(r, g, b, high, low) + j.Hue
	if hue < 0 {
		hue += 6 * oneFraction
	}
	if hue >= 6*oneFraction {
		hue -= 6 * oneFraction
	}
	return channel(value, chroma, hue+5*oneFraction), channel(value, chroma, hue+3*oneFraction), channel(value, chroma, hue+oneFraction)
}

// hueOf gives the place of a colour on the hue circle, in sixths from 0 to 6. Among
// equal largest channels red wins, then green.
func hueOf(r, g, b, high, low uint8) int32 {
	scale := int32(reciprocals[high-low])
	switch high {
	case r:
		if g < b {
			return (int32(g)-int32(b))*scale + 6*oneFraction
		}
		return (int32(g) - int32(b)) * scale
	case g:
		return (int32(b)-int32(r))*scale + 2*oneFraction
	}
	return (int32(r)-int32(g))*scale + 4*oneFraction
}

// channel gives the code of a channel whose place on the circle, in sixths from 0
// to below 12, is as far ahead of the hue as the channel wants.
func channel(value, chroma uint64, place int32) uint8 {
	if place >= 6*oneFraction {
		place -= 6 * oneFraction
	}
	away := min(max(min(place, 4*oneFraction-place), 0), oneFraction)
	return code(value - chroma*uint64(away)/oneFraction)
}

// CheckJitter refuses a jitter that is not one for each of n images.
func CheckJitter(jitter []Jitter, n int) error {
	if jitter != nil && len(jitter) != n {
		return fmt.Errorf("%d jitters for %d images; give one an image, or none", len(jitter), n)
	}
	return nil
}

// code rounds a channel, half to even.
func code(channel uint64) uint8 {
	return uint8((channel + oneGain/2 - 1 + channel/oneGain%2) / oneGain)
}

// reciprocals are 2^24 divided by every code, rounded down; that of 0 is not used.
var reciprocals = func() (table [256]uint64) {
	for c := range table {
		table[c] = oneFraction / uint64(max(c, 1))
	}
	return table
}()
