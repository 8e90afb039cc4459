package data

// turned draws a canvas with rotation or shear: every output pixel reads four
// pixels of the canvas.
type turned struct {
	canvas canvas
	back   transform
	width  int
	images []spans // along the present row, of each image of the canvas
}

func newTurned(w warped) *turned {
	return &turned{w.canvas, w.back, w.width, make([]spans, len(w.canvas.images))}
}

func (t *turned) paint(y int, row []float32) (from, to int) {
	columns := axis{t.back.xx, float64(t.back.xy*float64(y)) + t.back.x0}
	rows := axis{t.back.yx, float64(t.back.yy*float64(y)) + t.back.y0}
	for i, p := range t.canvas.images {
		t.images[i] = columns.spans(p.x0, p.x1, t.width).and(rows.spans(p.y0, p.y1, t.width))
	}
	from, to = hull(t.images)
	fill(row[3*from:3*to], padding)
	for i := range t.canvas.images {
		at := t.images[i]
		t.mix(row, span{at.touched.from, at.inner.from}, columns, rows)
		t.canvas.images[i].sample(row, at.inner, columns, rows)
		t.mix(row, span{at.inner.to, at.touched.to}, columns, rows)
	}
	return from, to
}

// mix samples pixels whose taps may lie on several images or on none.
func (t *turned) mix(row []float32, pixels span, columns, rows axis) {
	for x := pixels.from; x < pixels.to; x++ {
		column, down := tapAt(columns.at(x)), tapAt(rows.at(x))
		var p, q [6]uint8
		for i := range 2 {
			above, below := t.canvas.at(column.first+i, down.first), t.canvas.at(column.first+i, down.first+1)
			copy(p[3*i:], above[:])
			copy(q[3*i:], below[:])
		}
		bilinear((*[3]float32)(row[3*x:]), &p, &q, column.weight, down.weight)
	}
}

// sample samples pixels whose taps all lie on the image.
func (p *placed) sample(row []float32, pixels span, columns, rows axis) {
	stride, origin := 3*p.raster.Width, p.offset(0)
	for x := pixels.from; x < pixels.to; x++ {
		column, down := tapAt(columns.at(x)), tapAt(rows.at(x))
		first := origin + down.first*stride + 3*column.first
		above := (*[6]uint8)(p.raster.Pixels[first:])
		below := (*[6]uint8)(p.raster.Pixels[first+stride:])
		bilinear((*[3]float32)(row[3*x:]), above, below, column.weight, down.weight)
	}
}

// bilinear mixes two pixels of a row and two of the next, RGB after RGB, into
// values in [0,1].
func bilinear(out *[3]float32, above, below *[6]uint8, across, down float32) {
	for channel := range 3 {
		a, b := floats[above[channel]], floats[below[channel]]
		top := a + float32(across*(floats[above[channel+3]]-a))
		bottom := b + float32(across*(floats[below[channel+3]]-b))
		out[channel] = (top + float32(down*(bottom-top))) * perCode
	}
}
