package picture

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/font"
)

// Tile is one picture of a contact sheet.
type Tile struct {
	Image image.Image
	// Caption is drawn below the picture, cut to its width.
	Caption string
}

var (
	sheetGround = color.RGBA{R: 24, G: 26, B: 30, A: 255}
	sheetInk    = color.RGBA{R: 214, G: 218, B: 224, A: 255}
)

// Sheet tiles pictures row by row, columns of them side by side, each scaled to
// fit a square of side pixels with its shape kept.
func Sheet(tiles []Tile, columns, side int) (*image.RGBA, error) {
	if len(tiles) == 0 || columns < 1 || side < 32 {
		return nil, fmt.Errorf("picture: sheet of %d tiles in %d columns of %d pixels; give at least 1 tile, 1 column and 32 pixels",
			len(tiles), columns, side)
	}
	face, err := newFace(max(11, float64(side)/26))
	if err != nil {
		return nil, err
	}
	defer face.Close()
	gap := max(4, side/40)
	caption := (face.Metrics().Ascent + face.Metrics().Descent).Ceil() + gap
	columns = min(columns, len(tiles))
	rows := (len(tiles) + columns - 1) / columns
	sheet := image.NewRGBA(image.Rect(0, 0, gap+columns*(side+gap), gap+rows*(side+caption)))
	draw.Draw(sheet, sheet.Rect, image.NewUniform(sheetGround), image.Point{}, draw.Src)
	for i, tile := range tiles {
		corner := image.Point{X: gap + i%columns*(side+gap), Y: gap + i/columns*(side+caption)}
		place := fit(tile.Image.Bounds().Size(), side).Add(corner)
		xdraw.CatmullRom.Scale(sheet, place, tile.Image, tile.Image.Bounds(), draw.Src, nil)
		drawText(sheet, corner.Add(image.Point{Y: side + gap/2}), cut(face, tile.Caption, side), face, sheetInk)
	}
	return sheet, nil
}

// fit is the largest centred rectangle of a size's shape in a square of side.
func fit(size image.Point, side int) image.Rectangle {
	longest := max(size.X, size.Y, 1)
	width, height := max(size.X*side/longest, 1), max(size.Y*side/longest, 1)
	corner := image.Point{X: (side - width) / 2, Y: (side - height) / 2}
	return image.Rectangle{Min: corner, Max: corner.Add(image.Point{X: width, Y: height})}
}

// cut shortens a text, from its end, to a width in pixels.
func cut(face font.Face, text string, width int) string {
	if font.MeasureString(face, text).Ceil() <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && font.MeasureString(face, string(runes)+"…").Ceil() > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}
