package data

// paddingCode is the 8-bit grey of canvas that no image covers, and padding the
// same as a value, rounded as sampled grey is.
const (
	paddingCode = 114
	padding     = paddingCode * perCode
	perCode     = float32(1.0 / 255)
)

// placed is an image on a canvas: the pixels of the half-open rectangle X0..X1 x
// Y0..Y1 of the canvas come from the raster, starting at its pixel (FromX, FromY).
type placed struct {
	raster         *Raster
	x0, y0, x1, y1 int
	fromX, fromY   int
}

// canvas is a picture put together from images that do not overlap. It is never
// drawn itself: what samples it reads the images.
type canvas struct {
	width, height int
	images        []placed
}

// whole is the canvas of one image.
func whole(raster *Raster) canvas {
	return canvas{raster.Width, raster.Height, []placed{{raster: raster, x1: raster.Width, y1: raster.Height}}}
}

// at is the colour of a canvas pixel, which may lie outside the canvas.
func (c *canvas) at(x, y int) [3]uint8 {
	for i := range c.images {
		p := &c.images[i]
		if x >= p.x0 && x < p.x1 && y >= p.y0 && y < p.y1 {
			return [3]uint8(p.raster.Pixels[p.offset(y)+3*x:])
		}
	}
	return [3]uint8{paddingCode, paddingCode, paddingCode}
}

// offset is what 3*x must be added to for the place of canvas pixel (x, y) among
// the raster's pixels.
func (p *placed) offset(y int) int {
	return 3 * ((p.fromY+y-p.y0)*p.raster.Width + p.fromX - p.x0)
}
