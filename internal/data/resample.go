package data

import "math"

// taps are the source samples that one output sample is made of: weights[k]
// belongs to source index first+k, and the weights sum to 1.
type taps struct {
	first   int
	weights []float64
}

// triangleTaps returns the taps of a triangle filter with antialiasing that maps
// a row of in samples to out samples (data and evaluation specification,
// section 5).
func triangleTaps(in, out int) []taps {
	scale := float64(in) / float64(out)
	support := math.Max(scale, 1)
	row := make([]taps, out)
	for i := range row {
		center := scale * (float64(i) + 0.5)
		first := max(int(center-support+0.5), 0)
		last := min(int(center+support+0.5), in)
		weights := make([]float64, last-first)
		sum := 0.0
		for k := range weights {
			weights[k] = math.Max(0, 1-math.Abs(float64(first+k)-center+0.5)/support)
			sum += weights[k]
		}
		for k := range weights {
			weights[k] /= sum
		}
		row[i] = taps{first, weights}
	}
	return row
}

// floatImage is an RGB image of values in [0,1], interleaved (height, width, 3).
type floatImage struct {
	width, height int
	values        []float32
}

func newFloatImage(width, height int) *floatImage {
	return &floatImage{width, height, make([]float32, 3*width*height)}
}

// float is the raster as values in [0,1].
func (r *Raster) float() *floatImage {
	converted := newFloatImage(r.Width, r.Height)
	for i, code := range r.Pixels {
		converted.values[i] = unit[code]
	}
	return converted
}

// resize resamples an image to width x height pixels, rows first. An axis whose
// length stays is skipped, for its filter is the identity.
func (m *floatImage) resize(width, height int) *floatImage {
	return m.resizeColumns(width).resizeRows(height)
}

func (m *floatImage) resizeColumns(width int) *floatImage {
	if width == m.width {
		return m
	}
	resized := newFloatImage(width, m.height)
	row := triangleTaps(m.width, width)
	weights := make([][]float32, width)
	for x, tap := range row {
		weights[x] = single(tap.weights)
	}
	for y := range m.height {
		for x, tap := range row {
			var r, g, b float32
			source := m.values[3*(y*m.width+tap.first):]
			for k, weight := range weights[x] {
				r += weight * source[3*k]
				g += weight * source[3*k+1]
				b += weight * source[3*k+2]
			}
			pixel := resized.values[3*(y*width+x):]
			pixel[0], pixel[1], pixel[2] = r, g, b
		}
	}
	return resized
}

func (m *floatImage) resizeRows(height int) *floatImage {
	if height == m.height {
		return m
	}
	resized := newFloatImage(m.width, height)
	stride := 3 * m.width
	for y, tap := range triangleTaps(m.height, height) {
		row := resized.values[y*stride : (y+1)*stride]
		for k, weight := range single(tap.weights) {
			source := m.values[(tap.first+k)*stride:]
			for i := range row {
				row[i] += weight * source[i]
			}
		}
	}
	return resized
}

func single(weights []float64) []float32 {
	converted := make([]float32, len(weights))
	for i, weight := range weights {
		converted[i] = float32(weight)
	}
	return converted
}
