package data

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// plain is a source of square images of one colour each.
func plain(side int, codes ...uint8) memory {
	var source memory
	for i, code := range codes {
		raster := &Raster{Width: side, Height: side, Pixels: make([]uint8, 3*side*side)}
		for n := range raster.Pixels {
			raster.Pixels[n] = code
		}
		ring := []geometry.Point{{X: 2, Y: 2}, {X: 6, Y: 2}, {X: 6, Y: 6}, {X: 2, Y: 6}}
		source = append(source, Native{raster, Target{Labels: []int{i}, Polygons: [][]geometry.Point{ring},
			Boxes: []geometry.Box{{X1: 2, Y1: 2, X2: 6, Y2: 6}}}})
	}
	return source
}

// black is a black square image.
func black(side int) *Image {
	return drawn(&Raster{Width: side, Height: side, Pixels: make([]uint8, 3*side*side)})
}

// firstValue is the first value of an image before it is rounded to a code.
func firstValue(m *Image) float64 {
	row := make([]float32, 3*m.Width)
	m.painter()(0, row)
	return float64(row[0])
}

func TestMixupBlendsAndJoins(t *testing.T) {
	base := LetterboxBase{Size: 8}
	random := draw(2)
	random.Source = plain(8, 255, 0)
	sample, err := base.Sample(random, 0)
	require.NoError(t, err)
	mixed, err := MixupStep{Probability: 1, Base: base}.Apply(random, sample)
	require.NoError(t, err)

	replay := draw(2)
	replay.Random.Float64()
	other := replay.Random.IntN(2)
	gamma := distuv.Gamma{Alpha: 32, Beta: 1, Src: replay.Random}
	x, y := gamma.Rand(), gamma.Rand()
	want := x/(x+y) + (1-x/(x+y))*float64(1-other)
	require.InDelta(t, want, firstValue(mixed.Image), 1e-6)
	require.Equal(t, []int{0, other}, mixed.Target.Labels)
	require.Equal(t, replay.Random.Uint64(), random.Random.Uint64(), "nothing else is drawn")
}

// Beta(32, 32) has mean 1/2 and variance 1/260.
func TestMixupProportions(t *testing.T) {
	base := LetterboxBase{Size: 1}
	random := draw(3)
	random.Source = plain(1, 0)
	random.Source.(memory)[0].Target = Target{}
	sum, squares := 0.0, 0.0
	const count = 4000
	for range count {
		sample := Sample{Image: drawn(&Raster{Width: 1, Height: 1, Pixels: []uint8{255, 255, 255}})}
		mixed, err := MixupStep{Probability: 1, Base: base}.Apply(random, sample)
		require.NoError(t, err)
		v := firstValue(mixed.Image)
		sum, squares = sum+v, squares+v*v
	}
	mean := sum / count
	require.InDelta(t, 0.5, mean, 0.005)
	require.InDelta(t, 1.0/260, squares/count-mean*mean, 4e-4)
}

func TestCopyPasteOverwritesInsideTheRing(t *testing.T) {
	base := LetterboxBase{Size: 8}
	random := draw(1)
	random.Source = plain(8, 255)
	destination := Sample{Image: black(8), Target: Target{}}
	pasted, err := CopyPasteStep{Probability: 1, Base: base}.Apply(random, destination)
	require.NoError(t, err)
	require.Equal(t, []int{0}, pasted.Target.Labels)
	for y := range 8 {
		for x := range 8 {
			inside := x >= 2 && x < 6 && y >= 2 && y < 6
			require.Equal(t, inside, pasted.Image.Codes()[3*(8*y+x)] == 255, "%d %d", x, y)
		}
	}
	// An instance without a ring, or an oriented one, takes no pasting.
	for _, target := range []Target{
		{Labels: []int{4}, Boxes: []geometry.Box{{X2: 3, Y2: 3}}},
		{Labels: []int{4}, Boxes: []geometry.Box{{X2: 3, Y2: 3}}, Polygons: make([][]geometry.Point, 1), Rotated: make([]geometry.RotatedBox, 1)},
	} {
		kept, err := CopyPasteStep{Probability: 1, Base: base}.Apply(random, Sample{Image: black(8), Target: target})
		require.NoError(t, err)
		require.Equal(t, target, kept.Target)
		require.Equal(t, black(8).Codes(), kept.Image.Codes())
	}
}

func TestCombiningStepsObeyTheirProbability(t *testing.T) {
	base := LetterboxBase{Size: 4}
	for _, step := range []Step{MixupStep{0.25, base}, CopyPasteStep{0.25, base}} {
		random := draw(6)
		random.Source = plain(4, 9)
		combined := 0
		for range 2000 {
			out, err := step.Apply(random, Sample{Image: black(4)})
			require.NoError(t, err)
			combined += out.Target.Len()
		}
		require.InDelta(t, 500, combined, 90, step.Name())
	}
}
