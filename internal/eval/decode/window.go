package decode

import "math"

// span is a half-open range of pixels along one axis.
type span struct {
	first, end int
}

func (s span) empty() bool { return s.end <= s.first }

// pixels are the pixels j of an axis of count whose centre lies in the half-open
// interval: low <= j+0.5 < high.
func pixels(low, high float64, count int) span {
	// Bounding happens before the conversion: an integer cannot hold every
	// float. What is no number bounds an empty range.
	if !(low < high) {
		return span{}
	}
	bound := func(value float64) int {
		return int(math.Min(math.Max(math.Ceil(value-0.5), 0), float64(count)))
	}
	return span{bound(low), bound(high)}
}

// tap is where one output pixel reads along one axis: cells low and high, high
// with the given weight.
type tap struct {
	low, high int
	weight    float64
}

func (t tap) mix(low, high float64) float64 { return low*(1-t.weight) + high*t.weight }

// taps are the bilinear taps of the pixels of an axis of size out that is
// interpolated from in cells, with half-pixel centres and clamped edges.
func taps(pixels span, in, out int) []tap {
	list := make([]tap, 0, pixels.end-pixels.first)
	scale := float64(in) / float64(out)
	for pixel := pixels.first; pixel < pixels.end; pixel++ {
		source := math.Max((float64(pixel)+0.5)*scale-0.5, 0)
		low := int(source)
		list = append(list, tap{low: low, high: min(low+1, in-1), weight: source - float64(low)})
	}
	return list
}

// reach is the range of cells that taps, which ascend, read.
func reach(taps []tap) span {
	return span{taps[0].low, taps[len(taps)-1].high + 1}
}

// window holds the probabilities of a part of the prototype grid.
type window struct {
	rows, columns span
	values        []float64
}

func (w window) at(row, column int) float64 {
	return w.values[(row-w.rows.first)*(w.columns.end-w.columns.first)+column-w.columns.first]
}

// window evaluates the probability map of an instance, the sigmoid of the sum of
// coefficient times prototype, in the cells asked for only: most of the grid is
// outside the box.
func (p Prototypes[T]) window(coefficients []T, rows, columns span) window {
	if rows.empty() || columns.empty() {
		return window{}
	}
	width := columns.end - columns.first
	w := window{rows, columns, make([]float64, (rows.end-rows.first)*width)}
	for k, coefficient := range coefficients {
		for row := rows.first; row < rows.end; row++ {
			start := (k*p.Rows + row) * p.Columns
			source := p.values[start+columns.first : start+columns.end]
			sums := w.values[(row-rows.first)*width:][:width]
			for i, value := range source {
				sums[i] += float64(coefficient) * float64(value)
			}
		}
	}
	for i, logit := range w.values {
		w.values[i] = sigmoid(logit)
	}
	return w
}
