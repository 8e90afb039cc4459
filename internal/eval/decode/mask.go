package decode

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Prototypes are the K prototype maps of one image (YOLACT, arXiv:1904.02689),
// (K, Rows, Columns), together with the canvas that they cover.
type Prototypes[T device.Float] struct {
	values        []T
	Rows, Columns int
	// Height and Width are the size of the canvas in pixels.
	Height, Width int
}

// prototypeStride is the side of a prototype cell in pixels.
const prototypeStride = 4

// NewPrototypes cuts the prototype output (B, K, Height/4, Width/4) of a batch of
// canvases by image. An output whose length is not a multiple of the maps is an
// error.
func NewPrototypes[T device.Float](values []T, images, height, width int) ([]Prototypes[T], error) {
	rows, columns := height/prototypeStride, width/prototypeStride
	if one := images * rows * columns; one <= 0 || len(values) == 0 || len(values)%one != 0 {
		return nil, fmt.Errorf("prototype output has %d elements, not a multiple of %d x %d x %d; pass the output of a network built for this size",
			len(values), images, rows, columns)
	}
	prototypes := make([]Prototypes[T], images)
	length := len(values) / images
	for i := range prototypes {
		prototypes[i] = Prototypes[T]{
			values: values[i*length : (i+1)*length], Rows: rows, Columns: columns, Height: height, Width: width,
		}
	}
	return prototypes, nil
}

// GridMask is the mask of an instance on the prototype grid: the probability is
// strictly above one half and the cell centre lies inside box, given in pixels
// of the canvas. A number of coefficients other than K is an error.
func (p Prototypes[T]) GridMask(coefficients []T, box geometry.Box) (*mask.Bitmap, error) {
	if err := p.check(coefficients); err != nil {
		return nil, err
	}
	scaleX, scaleY := float64(p.Columns)/float64(p.Width), float64(p.Rows)/float64(p.Height)
	rows := pixels(box.Y1*scaleY, box.Y2*scaleY, p.Rows)
	columns := pixels(box.X1*scaleX, box.X2*scaleX, p.Columns)
	result := mask.New(p.Columns, p.Rows)
	window := p.window(coefficients, rows, columns)
	for row := rows.first; row < rows.end; row++ {
		for column := columns.first; column < columns.end; column++ {
			if window.at(row, column) > 0.5 {
				result.Set(row, column)
			}
		}
	}
	return result, nil
}

// CanvasMask is the mask of an instance on the canvas: probabilities of the
// prototype grid, interpolated bilinearly with half-pixel centres and clamped
// edges, strictly above one half, inside box (YOLO26 specification, data and
// evaluation section 8.4). A number of coefficients other than K is an error.
func (p Prototypes[T]) CanvasMask(coefficients []T, box geometry.Box) (*mask.Bitmap, error) {
	if err := p.check(coefficients); err != nil {
		return nil, err
	}
	result := mask.New(p.Width, p.Height)
	rows, columns := pixels(box.Y1, box.Y2, p.Height), pixels(box.X1, box.X2, p.Width)
	if rows.empty() || columns.empty() {
		return result, nil
	}
	rowTaps, columnTaps := taps(rows, p.Rows, p.Height), taps(columns, p.Columns, p.Width)
	window := p.window(coefficients, reach(rowTaps), reach(columnTaps))
	for i, vertical := range rowTaps {
		for j, horizontal := range columnTaps {
			top := horizontal.mix(window.at(vertical.low, horizontal.low), window.at(vertical.low, horizontal.high))
			bottom := horizontal.mix(window.at(vertical.high, horizontal.low), window.at(vertical.high, horizontal.high))
			if vertical.mix(top, bottom) > 0.5 {
				result.Set(rows.first+i, columns.first+j)
			}
		}
	}
	return result, nil
}

func (p Prototypes[T]) check(coefficients []T) error {
	if maps := len(p.values) / (p.Rows * p.Columns); len(coefficients) != maps {
		return fmt.Errorf("%d mask coefficients for %d prototypes; pass outputs of one network", len(coefficients), maps)
	}
	return nil
}

// OriginalMask maps a canvas mask to an original image of width x height pixels
// by the nearest pixel: pixel i reads canvas pixel floor((i+0.5)*ratio + pad),
// clamped to the canvas (YOLO26 specification, data and evaluation section 8.4).
func OriginalMask(canvas *mask.Bitmap, letterbox data.Letterbox, width, height int) *mask.Bitmap {
	nearest := func(i, pad, limit int) int {
		source := math.Floor((float64(i)+0.5)*letterbox.Ratio + float64(pad))
		return min(max(int(source), 0), limit-1)
	}
	original := mask.New(width, height)
	for row := range height {
		from := nearest(row, letterbox.PadTop, canvas.Height)
		for column := range width {
			if canvas.At(from, nearest(column, letterbox.PadLeft, canvas.Width)) {
				original.Set(row, column)
			}
		}
	}
	return original
}
