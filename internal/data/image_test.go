package data

import (
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadRasterFormats(t *testing.T) {
	directory := t.TempDir()
	write := func(name string, source image.Image) string {
		file := filepath.Join(directory, name)
		opened, err := os.Create(file)
		require.NoError(t, err)
		defer opened.Close()
		if filepath.Ext(name) == ".png" {
			require.NoError(t, png.Encode(opened, source))
		} else {
			require.NoError(t, jpeg.Encode(opened, source, &jpeg.Options{Quality: 100}))
		}
		return file
	}
	bounds := image.Rect(0, 0, 5, 3)
	gray, deep := image.NewGray(bounds), image.NewRGBA64(bounds)
	palette := image.NewPaletted(bounds, color.Palette{color.Black, color.NRGBA{R: 200, G: 100, B: 50, A: 255}})
	alpha := image.NewNRGBA(bounds)
	for y := range 3 {
		for x := range 5 {
			gray.SetGray(x, y, color.Gray{Y: 77})
			deep.SetRGBA64(x, y, color.RGBA64{R: 200 << 8, G: 100 << 8, B: 50 << 8, A: 0xffff})
			palette.SetColorIndex(x, y, 1)
			alpha.SetNRGBA(x, y, color.NRGBA{R: 200, G: 100, B: 50, A: 128})
		}
	}
	cases := []struct {
		name      string
		source    image.Image
		want      [3]uint8
		tolerance float64
	}{
		{"gray.png", gray, [3]uint8{77, 77, 77}, 0},
		{"gray.jpg", gray, [3]uint8{77, 77, 77}, 1},
		{"deep.png", deep, [3]uint8{200, 100, 50}, 0},
		{"palette.png", palette, [3]uint8{200, 100, 50}, 0},
		{"alpha.png", alpha, [3]uint8{200, 100, 50}, 0},
		{"photo.jpg", palette, [3]uint8{200, 100, 50}, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			read, err := ReadRaster(write(c.name, c.source))
			require.NoError(t, err)
			require.Equal(t, []int{5, 3, 45}, []int{read.Width, read.Height, len(read.Pixels)})
			for i, value := range read.Pixels {
				require.InDelta(t, float64(c.want[i%3]), float64(value), c.tolerance)
			}
		})
	}
}

// The fast path for photographs must be the general path, only faster.
func TestYCbCrPathEqualsGeneralPath(t *testing.T) {
	for _, ratio := range []image.YCbCrSubsampleRatio{image.YCbCrSubsampleRatio420, image.YCbCrSubsampleRatio444} {
		photo := image.NewYCbCr(image.Rect(0, 0, 17, 11), ratio)
		for i := range photo.Y {
			photo.Y[i] = uint8(37 * i)
		}
		for i := range photo.Cb {
			photo.Cb[i], photo.Cr[i] = uint8(11*i), uint8(200-7*i)
		}
		require.Equal(t, rasterOf(struct{ image.Image }{photo}), rasterOf(photo))
	}
}

// hugeHeader is the start of a PNG file of a million by a million pixels.
var hugeHeader = func() string {
	header := []byte("IHDR")
	header = binary.BigEndian.AppendUint32(header, 1000000)
	header = binary.BigEndian.AppendUint32(header, 1000000)
	header = append(header, 8, 2, 0, 0, 0)
	header = binary.BigEndian.AppendUint32(header, crc32.ChecksumIEEE(header))
	return "\x89PNG\r\n\x1a\n\x00\x00\x00\x0d" + string(header)
}()

// Field case YO-10.
func TestReadRasterFaults(t *testing.T) {
	directory := t.TempDir()
	whole := writeImage(t, directory, "whole.jpg", 64, 64, 1)
	text, err := os.ReadFile(whole)
	require.NoError(t, err)
	cases := []struct{ name, content, want string }{
		{"header only", string(text[:100]), "image is cut short; replace it or remove it from the data set"},
		{"half", string(text[:len(text)/2]), "image cannot be decoded: invalid JPEG format: "},
		{"empty", "", "image cannot be decoded: "},
		{"text", "not an image", "image cannot be decoded: "},
		{"huge header", hugeHeader, "image is too large: 1000000x1000000 pixels; cut it into tiles"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadRaster(writeFile(t, directory, "bad.jpg", c.content))
			require.ErrorContains(t, err, "bad.jpg: "+c.want)
		})
	}
	_, err = ReadRaster(filepath.Join(directory, "none.jpg"))
	require.ErrorContains(t, err, "none.jpg: image does not exist; ")
}
