package data

import "math"

// upright draws a canvas without rotation and shear. A column of the output then
// reads one column of the canvas, so that canvas rows are resampled once to the
// output's columns and mixed in pairs.
type upright struct {
	canvas       canvas
	rows         axis
	columns      []tap
	images       []spans // along a row, of each image of the canvas
	above, below *stretched
}

func newUpright(w warped) *upright {
	across := axis{w.back.xx, w.back.x0}
	u := &upright{
		canvas:  w.canvas,
		rows:    axis{w.back.yy, w.back.y0},
		columns: make([]tap, w.width),
		above:   newStretched(w.width),
		below:   newStretched(w.width),
	}
	for _, p := range w.canvas.images {
		u.images = append(u.images, across.spans(p.x0, p.x1, w.width))
	}
	from, to := hull(u.images)
	for x := from; x < to; x++ {
		u.columns[x] = tapAt(across.at(x))
	}
	return u
}

func (u *upright) paint(y int, row []float32) (from, to int) {
	position := u.rows.at(y)
	if !(position >= -1 && position < float64(u.canvas.height)) {
		return 0, 0
	}
	at := tapAt(position)
	if u.above.row != at.first && u.below.row == at.first {
		u.above, u.below = u.below, u.above
	}
	u.stretch(u.above, at.first)
	u.stretch(u.below, at.first+1)
	from, to = hull([]spans{{touched: u.above.touched}, {touched: u.below.touched}})
	blend(row[3*from:3*to], u.above.values[3*from:3*to], u.below.values[3*from:3*to], at.weight)
	return from, to
}

// blend mixes two rows of 8-bit range into one of [0,1].
func blend(out, above, below []float32, weight float32) {
	below = below[:len(out)]
	above = above[:len(out)]
	for i := range out {
		a := above[i]
		out[i] = (a + float32(weight*(below[i]-a))) * perCode
	}
}

// stretched is a canvas row resampled to the output's columns, in 8-bit range.
// What is not touched is grey.
type stretched struct {
	row     int
	touched span
	values  []float32
}

func newStretched(width int) *stretched {
	s := &stretched{row: math.MinInt, values: make([]float32, 3*width)}
	fill(s.values, paddingCode)
	return s
}

func (u *upright) stretch(s *stretched, y int) {
	if s.row == y {
		return
	}
	s.row = y
	var crossed [4]spans
	images := crossed[:0]
	for i, p := range u.canvas.images {
		if y >= p.y0 && y < p.y1 {
			images = append(images, u.images[i])
		}
	}
	from, to := hull(images)
	if touched := (span{from, to}); touched != s.touched {
		fill(s.values, paddingCode)
		s.touched = touched
	}
	for i, p := range u.canvas.images {
		if y < p.y0 || y >= p.y1 {
			continue
		}
		at := u.images[i]
		inner := at.inner
		u.mix(s.values, at.touched.from, inner.from, y)
		stretch(s.values[3*inner.from:3*inner.to], u.columns[inner.from:inner.to], p.raster.Pixels, p.offset(y))
		u.mix(s.values, inner.to, at.touched.to, y)
	}
}

// mix resamples pixels whose taps may lie on several images or on none.
func (u *upright) mix(values []float32, from, to, y int) {
	for x := from; x < to; x++ {
		at := u.columns[x]
		left, right := u.canvas.at(at.first, y), u.canvas.at(at.first+1, y)
		for channel := range 3 {
			a := float32(left[channel])
			values[3*x+channel] = a + float32(at.weight*(float32(right[channel])-a))
		}
	}
}

// stretch resamples pixels whose taps lie on one image, whose row starts at the
// offset.
func stretch(values []float32, columns []tap, pixels []uint8, offset int) {
	for _, at := range columns {
		first := 3*at.first + offset
		p := pixels[first : first+6 : first+6]
		q := values[:3:3]
		r, g, b := floats[p[0]], floats[p[1]], floats[p[2]]
		q[0] = r + float32(at.weight*(floats[p[3]]-r))
		q[1] = g + float32(at.weight*(floats[p[4]]-g))
		q[2] = b + float32(at.weight*(floats[p[5]]-b))
		values = values[3:]
	}
}

// floats are all 8-bit codes as numbers: to look one up is faster than to convert
// it.
var floats = func() (table [256]float32) {
	for code := range table {
		table[code] = float32(code)
	}
	return table
}()
