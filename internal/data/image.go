package data

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // registers the JPEG decoder
	_ "image/png"  // registers the PNG decoder
	"io"
	"io/fs"
	"math"
	"os"
)

// Image is an RGB image of float32 values in [0,1], interleaved (Height, Width, 3).
type Image struct {
	Width, Height int
	Pixels        []float32
}

// NewImage returns a black image of width x height pixels.
func NewImage(width, height int) *Image {
	return &Image{Width: width, Height: height, Pixels: make([]float32, 3*width*height)}
}

// Fill sets every channel of every pixel to value.
func (m *Image) Fill(value float32) {
	for i := range m.Pixels {
		m.Pixels[i] = value
	}
}

// Quantise writes the 8-bit transport codes of the image, round half to even of
// 255x, into codes (Height*Width*3 values). The error is at most 1/510 (data and
// evaluation specification, section 1).
func (m *Image) Quantise(codes []uint8) {
	codes = codes[:len(m.Pixels)]
	for i, value := range m.Pixels {
		// The product is rounded to float32 first: 1.5/255 is not a float32,
		// and its code must still be the even neighbour of 1.5. Adding 1.5*2^23
		// leaves no room for a fraction, so that the sum is rounded, half to
		// even, and its last bits are the whole number.
		const shift = 3 << 22
		rounded := int32(math.Float32bits(float32(value*255)+shift)) - int32(shiftBits)
		codes[i] = uint8(min(max(rounded, 0), 255))
	}
}

// shiftBits are the bits of 1.5*2^23 as a float32.
const shiftBits = 0x4b400000

// mostPixels bounds the size of an image. A decoder allocates what a header
// claims, so that a damaged one could end the process; a picture of that size
// has to be tiled anyway.
const mostPixels = 1 << 28

// pixelsPerByte is the most that a byte of an image file can stand for. Deflate
// gives back at most 1032 bytes for one, of 8 pixels each in a PNG of two colours;
// a block of 64 pixels takes at least one bit in a JPEG.
const pixelsPerByte = 8 * 1032

// errTooLarge marks an image of more than mostPixels, errClaim one of more than
// its file can hold.
var (
	errTooLarge = errors.New("image is too large")
	errClaim    = errors.New("image is cut short")
)

func decode(file string) (image.Image, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	header, _, err := image.DecodeConfig(bufio.NewReader(opened))
	if err != nil {
		return nil, err
	}
	if err := checkClaim(opened, header); err != nil {
		return nil, err
	}
	if _, err := opened.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	decoded, _, err := image.Decode(bufio.NewReaderSize(opened, 1<<16))
	return decoded, err
}

// checkClaim compares the size in a header with the limit and with what the file
// can hold.
func checkClaim(file *os.File, header image.Config) error {
	pixels := int64(header.Width) * int64(header.Height)
	if pixels > mostPixels {
		return fmt.Errorf("%w: %dx%d pixels", errTooLarge, header.Width, header.Height)
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if pixels > pixelsPerByte*info.Size() {
		return fmt.Errorf("%w: its header claims %dx%d pixels in %d bytes", errClaim, header.Width, header.Height, info.Size())
	}
	return nil
}

// imageFault says why decode refused a file.
func imageFault(file string, err error) Fault {
	fault := Fault{File: file, Problem: "image cannot be decoded: " + err.Error(), Remedy: "replace it or remove it from the data set"}
	switch {
	case errors.Is(err, errCache):
		fault.Problem, fault.Remedy = err.Error(), "or fit without a cache"
	case errors.Is(err, errClaim):
		fault.Problem = err.Error()
	case errors.Is(err, errTooLarge):
		fault.Problem, fault.Remedy = err.Error(), "cut it into tiles"
	case errors.Is(err, fs.ErrNotExist):
		fault.Problem = "image does not exist"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		fault.Problem = "image is cut short"
	}
	return fault
}

// unit holds k/255 for every 8-bit code k.
var unit = func() (table [256]float32) {
	for code := range table {
		table[code] = float32(float64(code) / 255)
	}
	return table
}()
