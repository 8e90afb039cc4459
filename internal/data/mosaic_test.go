package data

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
)

// memory is a source of images without files.
type memory []Native

func (m memory) Len() int                     { return len(m) }
func (m memory) Native(i int) (Native, error) { return Native{m[i].Raster, m[i].Target.Clone()}, nil }

func native(width, height, seed int, target Target) Native {
	return Native{rasterOf(drawing(width, height, seed)), target}
}

// The worked numbers of the data and evaluation specification, section 6.2.
func TestMosaicWorkedNumbers(t *testing.T) {
	cases := []struct {
		height, width int
		offset        [2]float64
		destination   [4]int
		source        [2]int
		box, clipped  geometry.Box
		fraction      float64
	}{
		{480, 640, [2]float64{-140, 220}, [4]int{0, 220, 500, 700}, [2]int{140, 0}, geometry.Box{X1: 10, Y1: 20, X2: 200, Y2: 300}, geometry.Box{X1: 0, Y1: 240, X2: 60, Y2: 520}, 0.315789474},
		{600, 400, [2]float64{500, 100}, [4]int{500, 100, 900, 700}, [2]int{0, 0}, geometry.Box{X1: 100, Y1: 100, X2: 390, Y2: 590}, geometry.Box{X1: 600, Y1: 200, X2: 890, Y2: 690}, 1},
		{700, 900, [2]float64{-400, 700}, [4]int{0, 700, 500, 1280}, [2]int{400, 0}, geometry.Box{X1: 50, Y1: 60, X2: 480, Y2: 400}, geometry.Box{X1: 0, Y1: 760, X2: 80, Y2: 1100}, 0.186046512},
		{300, 300, [2]float64{500, 700}, [4]int{500, 700, 800, 1000}, [2]int{0, 0}, geometry.Box{X1: 0, Y1: 0, X2: 300, Y2: 300}, geometry.Box{X1: 500, Y1: 700, X2: 800, Y2: 1000}, 1},
	}
	for i, c := range cases {
		place, offset := quadrant(&Raster{Width: c.width, Height: c.height}, i, 500, 700, 1280)
		require.Equal(t, c.offset, [2]float64{offset.X, offset.Y})
		require.Equal(t, c.destination, [4]int{place.x0, place.y0, place.x1, place.y1})
		require.Equal(t, c.source, [2]int{place.fromX, place.fromY})
		shifted := Target{Labels: []int{0}, Boxes: []geometry.Box{c.box}}.mapped(func(p geometry.Point) geometry.Point {
			return geometry.Point{X: p.X + offset.X, Y: p.Y + offset.Y}
		}, false)
		before := shifted.Boxes[0].Area()
		clipped, err := shifted.clipped(1280, 1280, false)
		require.NoError(t, err)
		require.Equal(t, c.clipped, clipped.Boxes[0])
		require.InDelta(t, c.fraction, clipped.Boxes[0].Area()/before, 5e-9)
	}
}

func TestQuadrantNeverLeavesItsPart(t *testing.T) {
	for _, width := range []int{1, 10, 64, 300} {
		for _, center := range []int{32, 33, 64, 95} {
			for i := range 4 {
				place, _ := quadrant(&Raster{Width: width, Height: width}, i, center, center, 128)
				require.LessOrEqual(t, 0, place.x0)
				require.LessOrEqual(t, place.x0, place.x1)
				require.LessOrEqual(t, place.x1, 128)
				require.Equal(t, min(width, []int{center, 128 - center}[i%2]), place.x1-place.x0)
				require.LessOrEqual(t, place.fromX+place.x1-place.x0, width)
			}
		}
	}
}

// The draws come in the documented order: trigger, three images, centre, affine.
func TestMosaicDrawOrder(t *testing.T) {
	source := memory{native(40, 30, 1, Target{}), native(20, 50, 2, Target{}), native(64, 64, 3, Target{})}
	base := GeometricBase{Size: 32, Mosaic: 1, CloseEpoch: 1, Affine: Affine{Scale: 0.5, Translate: 0.1}}
	random := draw(8)
	random.Source = source
	got, err := base.Sample(random, 1)
	require.NoError(t, err)

	replay := draw(8)
	replay.Random.Float64()
	indices := []int{1, replay.Random.IntN(3), replay.Random.IntN(3), replay.Random.IntN(3)}
	centerX, centerY := int(replay.uniform(16, 48)), int(replay.uniform(16, 48))
	whole := canvas{width: 64, height: 64}
	for i, index := range indices {
		place, _ := quadrant(source[index].Raster, i, centerX, centerY, 64)
		whole.images = append(whole.images, place)
	}
	moved := base.Affine.draw(replay, 64, 64)
	want := whole.warp(moved.then(NewLetterbox(64, 64, 32, 32)).inverse(), 32, 32)
	require.Equal(t, want.Codes(), got.Image.Codes())
	require.Equal(t, replay.Random.Uint64(), random.Random.Uint64(), "nothing else is drawn")
}

// Mosaic and affine carry difficult flags and keypoints like everything else.
func TestMosaicCarriesEveryModality(t *testing.T) {
	target := everyModality()
	source := memory{native(400, 300, 1, target)}
	base := GeometricBase{Size: 640, Mosaic: 1, CloseEpoch: 1}
	random := draw(1)
	random.Source = source
	sample, err := base.Sample(random, 0)
	require.NoError(t, err)
	require.NoError(t, sample.Target.Validate())
	require.GreaterOrEqual(t, sample.Target.Len(), 2)
	require.Len(t, sample.Target.Keypoints, sample.Target.Len())
	require.Len(t, sample.Target.Polygons, sample.Target.Len())
	require.Equal(t, true, sample.Target.Difficult[0])
}

// Field case PO-12: ten epochs that close at eight; what resumes at epoch nine is
// closed before its first batch and equals the unbroken run.
func TestClosedMosaicAfterResume(t *testing.T) {
	dataset := writeFolder(t, 5)
	pipeline := func(closeEpoch int) Pipeline {
		p := recipe(size)
		base := p.Base.(GeometricBase)
		base.CloseEpoch = closeEpoch
		return Pipeline{Base: base, Steps: []Step{MixupStep{Base: base}, CopyPasteStep{Base: base}, DefaultHSV, FlipStep{Probability: 0.5}}}
	}
	options := LoaderOptions{BatchSize: 2, Workers: 2, Seed: 3, Shuffle: true}
	closing := newLoader(t, dataset, pipeline(8), options)
	unbroken := collectBatches(t, closing, Position{}, 10)
	resumed := collectBatches(t, newLoader(t, dataset, pipeline(8), options), Position{Epoch: 9}, 10)
	require.Equal(t, unbroken[9*3:], resumed)

	never := collectBatches(t, newLoader(t, dataset, pipeline(0), options), Position{}, 10)
	always := collectBatches(t, newLoader(t, dataset, pipeline(10), options), Position{}, 10)
	for i := range unbroken {
		closed := i >= 8*3
		require.Equal(t, closed, string(never[i].Images) == string(unbroken[i].Images), "batch %d", i)
		require.Equal(t, !closed, string(always[i].Images) == string(unbroken[i].Images), "batch %d", i)
	}
}
