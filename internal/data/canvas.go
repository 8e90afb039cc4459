package data

// paddingCode is the 8-bit grey of canvas that no image covers.
const paddingCode = 114

// blank is a stretch of canvas that no image covers.
var blank = func() (codes [3 * 1024]uint8) {
	for i := range codes {
		codes[i] = paddingCode
	}
	return codes
}()

// placed is an image on a canvas: the pixels of the half-open rectangle X0..X1 x
// Y0..Y1 of the canvas come from the raster, starting at its pixel (FromX, FromY).
type placed struct {
	raster         *Raster
	x0, y0, x1, y1 int
	fromX, fromY   int
}

// canvas is a picture put together from images that do not overlap. It is never
// drawn as a whole when rows suffice.
type canvas struct {
	width, height int
	images        []placed
}

// whole is the canvas of one image.
func whole(raster *Raster) canvas {
	return canvas{raster.Width, raster.Height, []placed{{raster: raster, x1: raster.Width, y1: raster.Height}}}
}

// row writes canvas row y into codes, which has room for width+2 pixels: one of
// grey before the row and one after it, so that both taps of every sample exist.
// Rows outside the canvas are grey.
func (c canvas) row(y int, codes []uint8) {
	for filled := 0; filled < len(codes); {
		filled += copy(codes[filled:], blank[:])
	}
	for _, p := range c.images {
		if y < p.y0 || y >= p.y1 {
			continue
		}
		from := 3 * ((p.fromY+y-p.y0)*p.raster.Width + p.fromX)
		copy(codes[3*(p.x0+1):3*(p.x1+1)], p.raster.Pixels[from:from+3*(p.x1-p.x0)])
	}
}
