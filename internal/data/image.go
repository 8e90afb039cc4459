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
	"os"
)

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
