package yolo26

import "math"

// Scale is a compound scale: it turns base widths and depths into those of one
// network (YOLO26 specification, network section 3).
type Scale struct {
	// Name is the letter of the scale.
	Name string
	// Depth multiplies the repeats of the trunk's blocks.
	Depth float64
	// Width multiplies channels.
	Width float64
	// Cap is the largest base width; wider bases are cut to it first.
	Cap int
}

// The scales of the family. Channels are those of the base widths 64, 128, 256,
// 512 and 1024.
//
//	scale   depth  width   cap    channels                   repeats
//	Nano     0.50   0.25   1024   16,  32,  64, 128,  256    1
//	Small    0.50   0.50   1024   32,  64, 128, 256,  512    1
//	Medium   0.50   1.00    512   64, 128, 256, 512,  512    1
//	Large    1.00   1.00    512   64, 128, 256, 512,  512    2
//	Extra    1.00   1.50    512   96, 192, 384, 768,  768    2
//	Test     0.50   0.125  1024    8,  16,  32,  64,  128    1
//
// Test is no published scale: it keeps every block of the others at a size that
// a test can run in float64.
var (
	Nano   = Scale{Name: "n", Depth: 0.5, Width: 0.25, Cap: 1024}
	Small  = Scale{Name: "s", Depth: 0.5, Width: 0.5, Cap: 1024}
	Medium = Scale{Name: "m", Depth: 0.5, Width: 1, Cap: 512}
	Large  = Scale{Name: "l", Depth: 1, Width: 1, Cap: 512}
	Extra  = Scale{Name: "x", Depth: 1, Width: 1.5, Cap: 512}
	Test   = Scale{Name: "t", Depth: 0.5, Width: 0.125, Cap: 1024}
)

// Scales lists the scales from small to large, Test last.
func Scales() []Scale { return []Scale{Nano, Small, Medium, Large, Extra, Test} }

// Channels is the width of a layer whose base width is given: cut to the cap
// first, then multiplied, then rounded down.
func (s Scale) Channels(base int) int { return int(float64(min(base, s.Cap)) * s.Width) }

// Repeats is how often the trunk's blocks repeat their inner unit, twice in the
// unscaled network: rounded to the nearest, ties to even, and at least 1.
func (s Scale) Repeats() int { return max(1, int(math.RoundToEven(2*s.Depth))) }
