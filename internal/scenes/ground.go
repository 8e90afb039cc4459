package scenes

import (
	"image"
	"image/color"
	"math/rand/v2"
)

// grounds are the two colours between which the texture of a ground moves:
// grass, asphalt, sand and water.
var grounds = [][2]color.RGBA{
	{{58, 84, 48, 255}, {112, 128, 74, 255}},
	{{84, 86, 90, 255}, {128, 128, 126, 255}},
	{{158, 140, 104, 255}, {196, 180, 142, 255}},
	{{30, 62, 84, 255}, {58, 102, 118, 255}},
}

// ground is a textured background: value noise of several scales between the two
// colours of a ground, with grain on every pixel.
func ground(random *rand.Rand, size int) *image.RGBA {
	colors := grounds[random.IntN(len(grounds))]
	texture := make([]float64, size*size)
	amplitude, total := 1.0, 0.0
	for cell := float64(size) / 2; cell >= 3; cell /= 2.6 {
		addNoise(texture, random, size, cell, amplitude)
		total += amplitude
		amplitude *= 0.62
	}
	canvas := image.NewRGBA(image.Rect(0, 0, size, size))
	for i, value := range texture {
		mix := value / total
		grain := 12 * (random.Float64() - 0.5)
		blend := func(from, to uint8) uint8 {
			return uint8(min(max(float64(from)*(1-mix)+float64(to)*mix+grain, 0), 255))
		}
		canvas.SetRGBA(i%size, i/size, color.RGBA{
			R: blend(colors[0].R, colors[1].R), G: blend(colors[0].G, colors[1].G), B: blend(colors[0].B, colors[1].B), A: 255,
		})
	}
	return canvas
}

// addNoise adds values of a random lattice with the given cell size in pixels,
// smoothly interpolated, in [0, amplitude].
func addNoise(texture []float64, random *rand.Rand, size int, cell, amplitude float64) {
	columns := int(float64(size)/cell) + 2
	lattice := make([]float64, columns*columns)
	for i := range lattice {
		lattice[i] = random.Float64()
	}
	smooth := func(t float64) float64 { return t * t * (3 - 2*t) }
	for y := range size {
		row, fy := int(float64(y)/cell), smooth(float64(y)/cell-float64(int(float64(y)/cell)))
		for x := range size {
			column := int(float64(x) / cell)
			fx := smooth(float64(x)/cell - float64(column))
			at := lattice[row*columns+column:]
			below := at[columns:]
			top := at[0]*(1-fx) + at[1]*fx
			bottom := below[0]*(1-fx) + below[1]*fx
			texture[y*size+x] += amplitude * (top*(1-fy) + bottom*fy)
		}
	}
}
