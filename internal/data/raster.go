package data

import (
	"image"
	"image/color"
)

// Raster is an 8-bit RGB image in its native size, interleaved (Height, Width, 3).
// Its pixels may lie in a read-only mapping of the cache, so nobody writes to them.
type Raster struct {
	Width, Height int
	Pixels        []uint8
}

// ReadRaster decodes a JPEG or PNG file. Grey and palette images become RGB and
// an alpha channel is ignored.
func ReadRaster(file string) (*Raster, error) {
	decoded, err := decode(file)
	if err != nil {
		return nil, &FaultsError{Faults: []Fault{imageFault(file, err)}}
	}
	return rasterOf(decoded), nil
}

// Standard is a copy of the raster for the standard library's image packages.
func (r *Raster) Standard() *image.RGBA {
	copied := image.NewRGBA(image.Rect(0, 0, r.Width, r.Height))
	for from, to := 0, 0; from < len(r.Pixels); from, to = from+3, to+4 {
		copied.Pix[to], copied.Pix[to+1], copied.Pix[to+2], copied.Pix[to+3] = r.Pixels[from], r.Pixels[from+1], r.Pixels[from+2], 255
	}
	return copied
}

// rasterOf converts an image of the standard library. An alpha channel is ignored.
func rasterOf(source image.Image) *Raster {
	bounds := source.Bounds()
	target := &Raster{Width: bounds.Dx(), Height: bounds.Dy(), Pixels: make([]uint8, 3*bounds.Dx()*bounds.Dy())}
	at := func(x, y int) (r, g, b uint8) {
		c := color.NRGBAModel.Convert(source.At(x, y)).(color.NRGBA)
		return c.R, c.G, c.B
	}
	// Nearly every photograph is YCbCr, and the general path allocates a colour
	// per pixel.
	if photo, ok := source.(*image.YCbCr); ok {
		at = func(x, y int) (r, g, b uint8) {
			luma, chroma := photo.YOffset(x, y), photo.COffset(x, y)
			return color.YCbCrToRGB(photo.Y[luma], photo.Cb[chroma], photo.Cr[chroma])
		}
	}
	i := 0
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, b := at(x, y)
			pixel := target.Pixels[i : i+3 : i+3]
			pixel[0], pixel[1], pixel[2] = r, g, b
			i += 3
		}
	}
	return target
}
