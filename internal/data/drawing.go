package data

import (
	"bytes"
	"math"
	"sync"
)

// scene says how an image is drawn, row by row.
type scene interface {
	// painter gives a function that draws row y of the image: it writes values
	// in [0,1], RGB after RGB, at pixels from..to-1 of the row, and the rest of
	// the row is grey 114/255. Rows are asked for from the top to the bottom.
	painter() func(y int, row []float32) (from, to int)
}

// Image is an 8-bit RGB image, drawn when its codes are first asked for. Until
// then it costs nothing, and mixup can take the values before they are rounded.
type Image struct {
	Width, Height int

	scene scene
	codes []uint8 // nil until drawn
}

// Codes are the 8-bit codes of the image, interleaved (Height, Width, 3): the
// values rounded half to even of 255x, an error of at most 1/510 (data and
// evaluation specification, section 1). They belong to the image.
func (m *Image) Codes() []uint8 {
	if m.codes == nil {
		codes := scratchCodes(3 * m.Width * m.Height)
		m.Draw(codes)
		m.codes = codes
	}
	return m.codes
}

// Draw writes the codes of the image to a buffer of Height*Width*3.
func (m *Image) Draw(codes []uint8) {
	if m.codes != nil {
		copy(codes, m.codes)
		return
	}
	paint := m.scene.painter()
	values := make([]float32, 3*m.Width)
	grey := bytes.Repeat([]uint8{paddingCode}, 3*m.Width)
	for y := range m.Height {
		row := codes[3*y*m.Width : 3*(y+1)*m.Width]
		from, to := paint(y, values)
		copy(row[:3*from], grey)
		quantise(row[3*from:3*to], values[3*from:3*to])
		copy(row[3*to:], grey)
	}
}

// painter draws an image as part of another one.
func (m *Image) painter() func(y int, row []float32) (from, to int) {
	if m.codes == nil {
		return m.scene.painter()
	}
	return func(y int, row []float32) (from, to int) {
		for i, code := range m.codes[3*y*m.Width : 3*(y+1)*m.Width] {
			row[i] = unit[code]
		}
		return 0, m.Width
	}
}

// quantise rounds values in [0,1] to codes.
func quantise(codes []uint8, values []float32) {
	codes = codes[:len(values)]
	for i, value := range values {
		// The product is rounded to float32 first: 1.5/255 is not a float32,
		// and its code must still be the even neighbour of 1.5. Adding 2^23
		// leaves no room for a fraction, so that the sum is rounded, half to
		// even, and its last bits are the whole number.
		const shift = 1 << 23
		codes[i] = uint8(math.Float32bits(float32(value*255) + shift))
	}
}

// unit holds k/255 for every 8-bit code k.
var unit = func() (table [256]float32) {
	for code := range table {
		table[code] = float32(float64(code) / 255)
	}
	return table
}()

// codesPool keeps the codes of images between samples: at hundreds of samples a
// second, clearing and collecting fresh ones would cost as much as drawing them.
var codesPool sync.Pool

// scratchCodes are codes that hold anything.
func scratchCodes(length int) []uint8 {
	if used, ok := codesPool.Get().(*[]uint8); ok && cap(*used) >= length {
		return (*used)[:length]
	}
	return make([]uint8, length)
}

// recycle gives back the codes of an image that nobody uses any more.
func recycle(m *Image) {
	if m.codes != nil {
		codes := m.codes
		m.codes = nil
		codesPool.Put(&codes)
	}
}
