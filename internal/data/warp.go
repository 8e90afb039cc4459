package data

import "math"

// tap is where an output sample reads along one axis: between samples first and
// first+1 of a row that begins with one sample of padding, the second with the
// given weight.
type tap struct {
	first  int
	weight float32
}

// tapAt is the tap of a position on an axis of length samples. What lies outside
// reads padding alone.
func tapAt(position float64, length int) tap {
	position = math.Min(math.Max(position, -1), float64(length))
	first := min(int(math.Floor(position)), length-1)
	return tap{first + 1, float32(position - float64(first))}
}

// warp draws a canvas through the map from output to canvas coordinates, both
// taken at whole numbers: one bilinear resampling, without antialiasing, where
// taps outside the canvas are grey 114/255 (data and evaluation specification,
// section 6.3).
func (c canvas) warp(back transform, width, height int) *Image {
	out := scratchImage(width, height)
	if back.xy == 0 && back.yx == 0 {
		c.warpUpright(back, out)
	} else {
		c.warpTurned(back, out)
	}
	return out
}

// warpUpright resamples columns and rows apart: without rotation and shear a
// column of the output reads one column of the canvas.
func (c canvas) warpUpright(back transform, out *Image) {
	columns := make([]tap, out.Width)
	for x := range columns {
		columns[x] = tapAt(float64(back.xx*float64(x))+back.x0, c.width)
		columns[x].first *= 3
	}
	codes := make([]uint8, 3*(c.width+2))
	above, below := newStretched(out.Width), newStretched(out.Width)
	for y := range out.Height {
		at := tapAt(float64(back.yy*float64(y))+back.y0, c.height)
		// Tap 0 is the padding row, which is canvas row -1.
		first, second := at.first-1, at.first
		if above.row != first && below.row == first {
			above, below = below, above
		}
		above.fill(c, first, columns, codes)
		below.fill(c, second, columns, codes)
		blend(out.Pixels[3*y*out.Width:3*(y+1)*out.Width], above.values, below.values, at.weight)
	}
}

// blend mixes two rows of 8-bit range into one of [0,1].
func blend(out, above, below []float32, weight float32) {
	below = below[:len(out)]
	above = above[:len(out)]
	for i := range out {
		a := above[i]
		out[i] = (a + float32(weight*(below[i]-a))) * (1.0 / 255)
	}
}

// stretched is a canvas row resampled to the output's columns, in 8-bit range.
type stretched struct {
	row    int
	values []float32
}

func newStretched(width int) *stretched {
	return &stretched{row: math.MinInt, values: make([]float32, 3*width)}
}

func (s *stretched) fill(c canvas, row int, columns []tap, codes []uint8) {
	if s.row == row {
		return
	}
	s.row = row
	c.row(row, codes)
	values := s.values
	for _, at := range columns {
		p := codes[at.first : at.first+6 : at.first+6]
		q := values[:3:3]
		r, g, b := float32(p[0]), float32(p[1]), float32(p[2])
		q[0] = r + float32(at.weight*(float32(p[3])-r))
		q[1] = g + float32(at.weight*(float32(p[4])-g))
		q[2] = b + float32(at.weight*(float32(p[5])-b))
		values = values[3:]
	}
}

// warpTurned reads four pixels for every output pixel from the whole canvas.
func (c canvas) warpTurned(back transform, out *Image) {
	stride := 3 * (c.width + 2)
	codes := make([]uint8, stride*(c.height+2))
	for y := range c.height + 2 {
		c.row(y-1, codes[y*stride:(y+1)*stride])
	}
	i := 0
	for y := range out.Height {
		startX, startY := float64(back.xy*float64(y))+back.x0, float64(back.yy*float64(y))+back.y0
		for x := range out.Width {
			column := tapAt(float64(back.xx*float64(x))+startX, c.width)
			row := tapAt(float64(back.yx*float64(x))+startY, c.height)
			at := row.first*stride + 3*column.first
			p, q := codes[at:at+6:at+6], codes[at+stride:at+stride+6:at+stride+6]
			for channel := range 3 {
				top := float32(p[channel]) + float32(column.weight*(float32(p[channel+3])-float32(p[channel])))
				bottom := float32(q[channel]) + float32(column.weight*(float32(q[channel+3])-float32(q[channel])))
				out.Pixels[i+channel] = (top + float32(row.weight*(bottom-top))) * (1.0 / 255)
			}
			i += 3
		}
	}
}
