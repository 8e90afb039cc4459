package data

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
	"github.com/reprise-ml/reprise/runtime/device"
)

// everyModality is a record with one instance that carries everything.
func everyModality() Target {
	return Target{
		Boxes:      []geometry.Box{{X1: 100, Y1: 50, X2: 300, Y2: 200}},
		Labels:     []int{3},
		Polygons:   [][]geometry.Point{{{X: 100, Y: 50}, {X: 300, Y: 50}, {X: 200, Y: 200}}},
		Rotated:    []geometry.RotatedBox{{CenterX: 200, CenterY: 125, Width: 200, Height: 150, Angle: 0.25}},
		Difficult:  []bool{true},
		Keypoints:  [][]geometry.Point{{{X: 100, Y: 60}, {X: 300, Y: 200}}},
		Visibility: [][]uint8{{2, 1}},
	}
}

func draw(seed uint64) *Draw { return &Draw{Random: stream(seed, purposeAugment, 0, 0)} }

// The step draws hue, saturation and value in that order and touches nothing; the
// worked numbers of the jitter itself are tests of runtime/device.
func TestHSVStepDraws(t *testing.T) {
	source := rasterOf(drawing(9, 7, 1))
	out, err := DefaultHSV.Apply(draw(4), Sample{Image: drawn(source), Target: everyModality()})
	require.NoError(t, err)
	require.Equal(t, source.Pixels, out.Image.Codes())
	require.Equal(t, everyModality(), out.Target)
	same := draw(4)
	require.Equal(t, device.NewJitter(same.uniform(-0.015, 0.015), same.uniform(-0.7, 0.7), same.uniform(-0.4, 0.4)), out.Jitter)

	none, err := HSVStep{}.Apply(draw(4), Sample{Image: drawn(source)})
	require.NoError(t, err)
	require.Zero(t, none.Jitter)
	flipped, err := FlipStep{Probability: 1}.Apply(draw(4), out)
	require.NoError(t, err)
	require.Equal(t, out.Jitter, flipped.Jitter, "a later step keeps it")
}

func TestFlipWorkedNumbers(t *testing.T) {
	target := Target{
		Labels: []int{0, 1},
		Boxes:  []geometry.Box{{X1: 100, Y1: 50, X2: 640, Y2: 200}, {X1: 0, Y1: 0, X2: 10, Y2: 10}},
		Rotated: []geometry.RotatedBox{
			{CenterX: 100, CenterY: 80, Width: 60, Height: 20, Angle: 1.2},
			{CenterX: 30, CenterY: 40, Width: 20, Height: 10, Angle: -0.5},
		},
	}
	flipped, err := FlipStep{}.flipTarget(target, 640)
	require.NoError(t, err)
	require.Equal(t, []geometry.Box{{X1: 0, Y1: 50, X2: 539, Y2: 200}, {X1: 629, Y1: 0, X2: 639, Y2: 10}}, flipped.Boxes)
	require.InDelta(t, 1.94159265, flipped.Rotated[0].Angle, 5e-9)
	flipped.Rotated[0].Angle = 0
	require.Equal(t, geometry.RotatedBox{CenterX: 539, CenterY: 80, Width: 60, Height: 20}, flipped.Rotated[0])
	require.Equal(t, geometry.RotatedBox{CenterX: 609, CenterY: 40, Width: 20, Height: 10, Angle: 0.5}, flipped.Rotated[1])
}

func TestFlipMirrorsColumnsPolygonsAndKeypoints(t *testing.T) {
	source := rasterOf(drawing(5, 3, 1))
	sample := Sample{Image: drawn(source), Target: everyModality()}
	flip := FlipStep{Probability: 1, KeypointOrder: []int{1, 0}}
	out, err := flip.Apply(draw(1), sample)
	require.NoError(t, err)
	require.Equal(t, sample.Target, everyModality(), "the argument stays")
	require.Equal(t, source.Pixels[0:3], out.Image.Codes()[12:15])
	require.Equal(t, source.Pixels[6:9], out.Image.Codes()[6:9])
	require.Equal(t, geometry.Point{X: 4 - 100, Y: 50}, out.Target.Polygons[0][0], "not clamped")
	require.Equal(t, []geometry.Point{{X: 4 - 300, Y: 200}, {X: 4 - 100, Y: 60}}, out.Target.Keypoints[0])
	require.Equal(t, []uint8{1, 2}, out.Target.Visibility[0])

	again, err := flip.Apply(draw(1), out)
	require.NoError(t, err)
	require.Equal(t, source.Pixels, again.Image.Codes())
	require.Equal(t, sample.Target.Keypoints, again.Target.Keypoints)

	_, err = FlipStep{Probability: 1, KeypointOrder: []int{0}}.Apply(draw(1), sample)
	require.ErrorContains(t, err, "keypoint order of 1 for instances of 2 keypoints")
}

func TestFlipProbability(t *testing.T) {
	flips := 0
	source := draw(9)
	for range 2000 {
		sample := Sample{Image: drawn(&Raster{Width: 2, Height: 1, Pixels: []uint8{255, 0, 0, 0, 0, 0}})}
		out, err := FlipStep{Probability: 0.5}.Apply(source, sample)
		require.NoError(t, err)
		if out.Image.Codes()[3] == 255 {
			flips++
		}
	}
	require.InDelta(t, 1000, flips, 100)
}

func TestStepSettingsAreChecked(t *testing.T) {
	base := LetterboxBase{Size: 64}
	recipe := Augmentation{Size: 64, Mosaic: 1, CloseEpoch: 40, Affine: Affine{Scale: 0.5, Translate: 0.1}, HSV: DefaultHSV, Flip: 0.5}
	with := func(change func(*Augmentation)) Pipeline {
		changed := recipe
		change(&changed)
		return TrainingPipeline(changed)
	}
	cases := []struct {
		pipeline Pipeline
		want     string
	}{
		{Pipeline{Base: LetterboxBase{}}, "letterbox: size 0 is not positive"},
		{Pipeline{base, []Step{HSVStep{Hue: -0.1}}}, "hsv: half-range -0.1 is outside 0..1"},
		{Pipeline{base, []Step{HSVStep{Value: math.NaN()}}}, "hsv: half-range NaN is outside 0..1"},
		{Pipeline{base, []Step{FlipStep{Probability: 1.5}}}, "flip: probability 1.5 is outside 0..1"},
		{Pipeline{base, []Step{FlipStep{KeypointOrder: []int{1, 2, 0}}}}, "flip: keypoint order maps 0 to 1 but not back"},
		{Pipeline{base, []Step{FlipStep{KeypointOrder: []int{3}}}}, "flip: keypoint order maps 0 to 3 but not back"},
		{with(func(a *Augmentation) { a.Size = -1 }), "geometry: size -1 is not positive"},
		{with(func(a *Augmentation) { a.Mosaic = 2 }), "geometry: mosaic probability 2 is outside 0..1"},
		{with(func(a *Augmentation) { a.Affine.Degrees = 181 }), "affine: degrees 181 is outside 0..180"},
		{with(func(a *Augmentation) { a.Affine.Shear = -1 }), "affine: shear -1 is outside 0..40"},
		{with(func(a *Augmentation) { a.Affine.Scale = math.Inf(1) }), "affine: scale +Inf is outside 0..1"},
		{with(func(a *Augmentation) { a.Affine.Translate = 1.5 }), "affine: translate 1.5 is outside 0..1"},
		{with(func(a *Augmentation) { a.Mixup = -0.5 }), "mixup: probability -0.5 is outside 0..1"},
		{with(func(a *Augmentation) { a.CopyPaste = math.NaN() }), "copy-paste: probability NaN is outside 0..1"},
	}
	for _, c := range cases {
		require.ErrorContains(t, c.pipeline.Validate(), c.want)
	}
	require.NoError(t, TrainingPipeline(recipe).Validate())
	require.NoError(t, ValidationPipeline(64).Validate())
}

func TestStreamsAreApart(t *testing.T) {
	base := stream(1, purposeAugment, 2, 3).Uint64()
	require.Equal(t, base, stream(1, purposeAugment, 2, 3).Uint64())
	for _, other := range []uint64{
		stream(2, purposeAugment, 2, 3).Uint64(), stream(1, purposeOrder, 2, 3).Uint64(),
		stream(1, purposeAugment, 3, 2).Uint64(), stream(1, purposeAugment, 2, 4).Uint64(),
	} {
		require.NotEqual(t, base, other)
	}
}
