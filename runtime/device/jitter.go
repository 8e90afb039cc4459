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
	circle      = 6 * oneFraction
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
	colors := j.Colors()
	// Pictures have many runs of one colour, the padding among them.
	var from [3]uint8
	to := colors.packed(0, 0, 0)
	for ; len(pixels) >= 3; pixels = pixels[3:] {
		p := (*[3]uint8)(pixels)
		if r, g, b := p[0], p[1], p[2]; r != from[0] || g != from[1] || b != from[2] {
			from[0], from[1], from[2] = r, g, b
			to = colors.packed(r, g, b)
		}
		p[0], p[1], p[2] = uint8(to), uint8(to>>8), uint8(to>>16)
	}
}

// Colors is a jitter at work, with all that depends on one code worked out.
type Colors struct {
	// hue is that of the jitter, from 0 to below 6 sixths.
	hue int64
	// values are the new values by the largest channel, in codes times 2^16, and
	// codes are those rounded.
	values [256]int64
	codes  [256]uint8
	// saturations are by the largest channel: times its distance from the
	// smallest they are the new saturation times 2^40.
	saturations [256]int64
}

// Colors works out a jitter.
func (j Jitter) Colors() *Colors {
	c := &Colors{hue: int64((j.Hue%circle + circle) % circle)}
	for high := range c.values {
		c.values[high] = min(int64(high)*int64(oneGain+j.Value), 255*oneGain)
		c.codes[high] = uint8(code(c.values[high]))
		c.saturations[high] = reciprocals[high] * int64(oneGain+j.Saturation)
	}
	return c
}

// Pixel changes one colour.
func (c *Colors) Pixel(r, g, b uint8) (uint8, uint8, uint8) {
	packed := c.packed(r, g, b)
	return uint8(packed), uint8(packed >> 8), uint8(packed >> 16)
}

// packed changes one colour and gives its channels as bytes, red the lowest. The
// channel that the hue is nearest to gets the value, the one that is farthest from
// it the value less the chroma, and the third lies between them as the hue lies
// between two corners of the circle.
//
// Which channel is largest nobody could predict, so nothing here branches: below is
// all ones where its argument is negative, and selects.
func (c *Colors) packed(r, g, b uint8) uint64 {
	red, green, blue := int64(r), int64(g), int64(b)
	redAhead := red - green
	greenLeads := below(redAhead)
	high, low := red-redAhead&greenLeads, green+redAhead&greenLeads
	blueLeads := below(high - blue)
	high -= (high - blue) & blueLeads
	low = blue + (low-blue)&below(low-blue)

	value := c.values[uint8(high)]
	saturation := (high-low)*c.saturations[uint8(high)]>>16 - oneFraction
	chroma := value * (oneFraction + saturation&below(saturation)) >> 24
	// Among equal largest channels red wins, then green.
	ahead := (green-blue)&^greenLeads | (blue-red)&greenLeads
	ahead = ahead&^blueLeads | redAhead&blueLeads
	corner := (2*oneFraction)&greenLeads&^blueLeads | (4*oneFraction)&blueLeads
	hue := ahead*reciprocals[uint8(high-low)] + corner + c.hue
	hue += circle & below(hue)
	hue -= circle &^ below(hue-circle)

	sixth, away := hue>>24&7, hue&(oneFraction-1)
	even := below(sixth&1 - 1)
	away = away&^even | (oneFraction-away)&even
	places := placesOf[sixth]
	return uint64(c.codes[uint8(high)])<<(places&31) |
		code(value-chroma*away>>24)<<(places>>8&31) |
		code(value-chroma)<<(places>>16&31)
}

// below is -1, which is all ones, for a negative number, and 0 for others.
func below(number int64) int64 { return number >> 63 }

// placesOf says, by the sixth of the circle that a hue lies in, how many bits
// above red the channels with the largest, the middle and the smallest code lie,
// in one byte each from the lowest.
var placesOf = [8]uint32{0x100800, 0x100008, 0x001008, 0x000810, 0x080010, 0x081000}

// CheckJitter refuses a jitter that is not one for each of n images.
func CheckJitter(jitter []Jitter, n int) error {
	if jitter != nil && len(jitter) != n {
		return fmt.Errorf("%d jitters for %d images; give one an image, or none", len(jitter), n)
	}
	return nil
}

// code rounds a channel, half to even.
func code(channel int64) uint64 {
	return uint64(channel+oneGain/2-1+channel>>16&1) >> 16
}

// reciprocals are 2^24 divided by every code, rounded down; that of 0 is not used.
var reciprocals = func() (table [256]int64) {
	for c := range table {
		table[c] = oneFraction / int64(max(c, 1))
	}
	return table
}()
