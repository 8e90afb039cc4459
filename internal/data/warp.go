package data

// warped is the scene of a canvas seen through the map from output to canvas
// coordinates, both taken at whole numbers: one bilinear resampling, without
// antialiasing, where taps outside the images are grey 114/255 (data and
// evaluation specification, section 6.3).
type warped struct {
	canvas canvas
	back   transform
	width  int
}

func (c canvas) warp(back transform, width, height int) *Image {
	return &Image{Width: width, Height: height, scene: warped{c, back, width}}
}

func (w warped) painter() func(y int, row []float32) (from, to int) {
	if w.back.xy == 0 && w.back.yx == 0 {
		return newUpright(w).paint
	}
	return newTurned(w).paint
}

// tap is where an output sample reads along one axis: between samples first and
// first+1, the second with the given weight.
type tap struct {
	first  int
	weight float32
}

// tapAt is the tap of a position of at least -1.
func tapAt(position float64) tap {
	first := int(position)
	if position < 0 {
		first = -1
	}
	return tap{first, float32(position - float64(first))}
}

// axis is the canvas coordinate factor*x + start of output pixel x, along one
// axis. The conversion forbids a fused multiply-add.
type axis struct{ factor, start float64 }

func (a axis) at(x int) float64 { return float64(a.factor*float64(x)) + a.start }

// span is a half-open range of output pixels.
type span struct{ from, to int }

func (s span) and(o span) span {
	from := max(s.from, o.from)
	return span{from, max(from, min(s.to, o.to))}
}

// within is the range of the pixels 0..count-1 whose coordinates are at least low
// and below high. Coordinates rise or fall with x, rounding included.
func (a axis) within(low, high float64, count int) span {
	switch {
	case a.factor > 0:
		return span{a.crossing(low, count), a.crossing(high, count)}.and(span{0, count})
	case a.factor < 0:
		// Mirrored, what is at least low is not below it.
		return span{a.crossing(high, count), a.crossing(low, count)}.and(span{0, count})
	case a.start >= low && a.start < high:
		return span{0, count}
	}
	return span{}
}

// crossing is the first pixel on the far side of a bound: at or above it when
// coordinates rise, below it when they fall; count when there is none. The
// division gives the place but for rounding.
func (a axis) crossing(bound float64, count int) int {
	beyond := func(x int) bool { return (a.at(x) >= bound) == (a.factor > 0) }
	x := int(min(max((bound-a.start)/a.factor, 0), float64(count)))
	for x > 0 && beyond(x-1) {
		x--
	}
	for x < count && !beyond(x) {
		x++
	}
	return x
}

// spans are the output pixels of a row that read an image: touched ones with at
// least one tap, and among them inner ones with all taps.
type spans struct{ touched, inner span }

func (a axis) spans(low, high, count int) spans {
	return spans{
		touched: a.within(float64(low-1), float64(high), count),
		inner:   a.within(float64(low), float64(high-1), count),
	}
}

func (s spans) and(o spans) spans {
	both := spans{s.touched.and(o.touched), s.inner.and(o.inner)}
	if both.inner.from == both.inner.to { // empty, and anywhere
		both.inner = span{both.touched.to, both.touched.to}
	}
	return both
}

// hull is the least range that holds all touched pixels.
func hull(rows []spans) (from, to int) {
	for _, row := range rows {
		if row.touched.from == row.touched.to {
			continue
		}
		if from == to {
			from, to = row.touched.from, row.touched.to
		}
		from, to = min(from, row.touched.from), max(to, row.touched.to)
	}
	return from, to
}

// fill sets values to a constant.
func fill(values []float32, value float32) {
	for i := range values {
		values[i] = value
	}
}
