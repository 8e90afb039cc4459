package decode_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/internal/geometry"
)

func logit(p float64) float64 { return math.Log(p / (1 - p)) }

func columns(b *mask.Bitmap, row int) []int {
	var list []int
	for column := range b.Width {
		if b.At(row, column) {
			list = append(list, column)
		}
	}
	return list
}

// The interpolated row of section 8.4. A mask shows only what is above one half,
// so other pairs of cells tell the weights 1/8, 3/8, 5/8 and 7/8 apart.
func TestCanvasMaskInterpolatesHalfPixelCentres(t *testing.T) {
	whole := geometry.Box{X2: 8, Y2: 4}
	for _, test := range []struct {
		name        string
		left, right float64
		want        []int
	}{
		// .1 .1 .2 .4 .6 .8 .9 .9
		{"worked row", 0.1, 0.9, []int{4, 5, 6, 7}},
		{"columns from 5/8", 0.4, 0.58, []int{4, 5, 6, 7}},
		{"columns from 3/8", 0.4, 0.9, []int{3, 4, 5, 6, 7}},
		{"columns from 7/8", 0.4, 0.52, []int{5, 6, 7}},
		{"one half is out", 0.5, 0.5, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			maps, err := decode.NewPrototypes([]float64{logit(test.left), logit(test.right)}, 1, 4, 8)
			require.NoError(t, err)
			canvas, err := maps[0].CanvasMask([]float64{1}, whole)
			require.NoError(t, err)
			for row := range 4 {
				require.Equal(t, test.want, columns(canvas, row))
			}
		})
	}
}

// The nearest map of section 8.4: a 5x8 image in a canvas of 16.
func TestOriginalMaskWorkedCanvas(t *testing.T) {
	letterbox := data.NewLetterbox(8, 5, 16, 16)
	require.Equal(t, 2.0, letterbox.Ratio)
	require.Equal(t, 3, letterbox.PadTop)
	wantRows, wantColumns := []int{4, 6, 8, 10, 12}, []int{1, 3, 5, 7, 9, 11, 13, 15}
	for row := range 16 {
		for column := range 16 {
			canvas := mask.New(16, 16)
			canvas.Set(row, column)
			original := decode.OriginalMask(canvas, letterbox, 8, 5)
			for i, from := range wantRows {
				for j, source := range wantColumns {
					require.Equal(t, row == from && column == source, original.At(i, j))
				}
			}
		}
	}
}

// probability is the literal sum and sigmoid of one cell of the second image.
func probability(values []float32, coefficients []float32, row, column, rows, columns int) float64 {
	sum, maps := 0.0, len(coefficients)
	for k, c := range coefficients {
		sum += float64(c) * float64(values[((maps+k)*rows+row)*columns+column])
	}
	return 1 / (1 + math.Exp(-sum))
}

func inside(box geometry.Box, scale float64, row, column int) bool {
	x, y := float64(column)+0.5, float64(row)+0.5
	return box.X1*scale <= x && x < box.X2*scale && box.Y1*scale <= y && y < box.Y2*scale
}

func TestMasksEqualLiteral(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 1))
	const height, width, rows, columns, maps = 64, 96, 16, 24, 5
	values := make([]float32, 2*maps*rows*columns)
	for i := range values {
		values[i] = float32(random.NormFloat64())
	}
	prototypes, err := decode.NewPrototypes(values, 2, height, width)
	require.NoError(t, err)
	edge := func(limit float64) float64 {
		if random.IntN(2) == 0 {
			return float64(random.IntN(2*int(limit)))/2 - 4 // on centres and borders
		}
		return random.Float64()*(limit+20) - 10
	}
	filled := 0
	for range 60 {
		coefficients := make([]float32, maps)
		for k := range coefficients {
			coefficients[k] = float32(random.Float64()*2 - 1)
		}
		box := geometry.Box{X1: edge(width), Y1: edge(height), X2: edge(width), Y2: edge(height)}
		grid, err := prototypes[1].GridMask(coefficients, box)
		require.NoError(t, err)
		for row := range rows {
			for column := range columns {
				want := inside(box, 0.25, row, column) && probability(values, coefficients, row, column, rows, columns) > 0.5
				require.Equal(t, want, grid.At(row, column))
			}
		}
		canvas, err := prototypes[1].CanvasMask(coefficients, box)
		require.NoError(t, err)
		for row := range height {
			for column := range width {
				want := false
				if inside(box, 1, row, column) {
					y, x := (float64(row)+0.5)/4-0.5, (float64(column)+0.5)/4-0.5
					want = bilinear(y, x, rows, columns, func(r, c int) float64 {
						return probability(values, coefficients, r, c, rows, columns)
					}) > 0.5
				}
				require.Equal(t, want, canvas.At(row, column))
			}
		}
		filled += canvas.Area()
	}
	require.Positive(t, filled)
}

// bilinear sums the four cells around a position, each clamped into the grid.
func bilinear(y, x float64, rows, columns int, at func(row, column int) float64) float64 {
	sum := 0.0
	for dy := range 2 {
		for dx := range 2 {
			r, c := math.Floor(y)+float64(dy), math.Floor(x)+float64(dx)
			weight := (1 - math.Abs(y-r)) * (1 - math.Abs(x-c))
			sum += weight * at(min(max(int(r), 0), rows-1), min(max(int(c), 0), columns-1))
		}
	}
	return sum
}

func TestMasksOfBrokenBoxesAreEmpty(t *testing.T) {
	maps, err := decode.NewPrototypes([]float64{5, 5, 5, 5}, 1, 8, 8)
	require.NoError(t, err)
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct {
		box  geometry.Box
		want int
	}{
		{geometry.Box{X1: nan, Y1: 0, X2: 8, Y2: 8}, 0},
		{geometry.Box{X1: 8, Y1: 8}, 0},
		{geometry.Box{X1: 20, Y1: 0, X2: 30, Y2: 8}, 0},
		{geometry.Box{X1: -inf, Y1: -inf, X2: inf, Y2: inf}, 64},
	} {
		canvas, err := maps[0].CanvasMask([]float64{1}, test.box)
		require.NoError(t, err)
		require.Equal(t, test.want, canvas.Area(), "%v", test.box)
		grid, err := maps[0].GridMask([]float64{1}, test.box)
		require.NoError(t, err)
		require.Equal(t, test.want/16, grid.Area(), "%v", test.box)
	}
}

func TestMasksRefuseWrongLengths(t *testing.T) {
	_, err := decode.NewPrototypes(make([]float64, 9), 1, 8, 8)
	require.EqualError(t, err, "prototype output has 9 elements, not a multiple of 1 x 2 x 2; pass the output of a network built for this size")
	maps, err := decode.NewPrototypes(make([]float64, 8), 1, 8, 8)
	require.NoError(t, err)
	_, err = maps[0].GridMask([]float64{1}, geometry.Box{})
	require.EqualError(t, err, "1 mask coefficients for 2 prototypes; pass outputs of one network")
	_, err = maps[0].CanvasMask([]float64{1}, geometry.Box{})
	require.Error(t, err)
}

// Section 8.5: the inverse of the letterbox of section 5, not clipped.
func TestOriginalCoordinates(t *testing.T) {
	letterbox := data.NewLetterbox(500, 375, 640, 640)
	box := decode.Detection{Box: geometry.Box{X1: 128, Y1: 144, X2: 384, Y2: 336}}
	require.Equal(t, geometry.Box{X1: 100, Y1: 50, X2: 300, Y2: 200}, box.Original(letterbox).Box)
	outside := decode.Detection{Box: geometry.Box{X1: -64, Y1: 0, X2: 704, Y2: 640}}
	require.Equal(t, geometry.Box{X1: -50, Y1: -62.5, X2: 550, Y2: 437.5}, outside.Original(letterbox).Box)

	rotated := decode.Rotated{Box: geometry.RotatedBox{CenterX: 128, CenterY: 144, Width: 128, Height: 64, Angle: 0.5}}
	require.Equal(t, geometry.RotatedBox{CenterX: 100, CenterY: 50, Width: 100, Height: 50, Angle: 0.5}, rotated.Original(letterbox).Box)
}
