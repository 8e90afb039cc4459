package picture

import (
	"fmt"
	"image/color"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/opentype"
)

// style is how thick and large things are drawn, in pixels.
type style struct {
	line, textHeight float64
	padding          int
}

// styleFor grows with the picture, so that a large one stays legible when it is
// looked at as a whole, and has a floor below which nothing can be read.
func styleFor(width, height int) style {
	side := math.Max(float64(width), float64(height))
	text := math.Max(11, side/62)
	return style{line: math.Max(2, side/440), textHeight: text, padding: int(text/4 + 0.5)}
}

// newFace is the text font at a height in pixels; the caller closes it.
func newFace(height float64) (font.Face, error) {
	parsed, err := opentype.Parse(gomedium.TTF)
	if err != nil {
		return nil, fmt.Errorf("picture: the built-in font cannot be read: %w; rebuild the program", err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: height, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		return nil, fmt.Errorf("picture: the built-in font cannot be drawn: %w; rebuild the program", err)
	}
	return face, nil
}

// classColor is a bright colour for a class. Hues advance by the golden ratio,
// which keeps those of any few neighbouring classes far apart.
func classColor(class int) color.RGBA {
	const golden = 0.6180339887498949
	_, hue := math.Modf(0.09 + golden*math.Abs(float64(class)))
	channel := func(shift float64) uint8 {
		distance := math.Abs(math.Mod(hue*6+shift, 6) - 3)
		return uint8(255 * (0.16 + 0.84*math.Min(math.Max(distance-1, 0), 1)))
	}
	return color.RGBA{R: channel(0), G: channel(4), B: channel(2), A: 255}
}

// inkOn is black or white, whichever is read more easily on a background.
func inkOn(background color.RGBA) color.RGBA {
	luminance := 0.299*float64(background.R) + 0.587*float64(background.G) + 0.114*float64(background.B)
	if luminance > 125 {
		return color.RGBA{R: 12, G: 12, B: 12, A: 255}
	}
	return color.RGBA{R: 255, G: 255, B: 255, A: 255}
}
