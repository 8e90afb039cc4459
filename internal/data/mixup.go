package data

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

// MixupStep blends a sample with a second one in a random proportion; the targets
// of both count fully (data and evaluation specification, section 6.5).
type MixupStep struct {
	Probability float64
	// Base makes the second sample.
	Base Base
}

// mixupShape is the shape of both Gamma variates; X/(X+Y) is Beta(32, 32), which
// keeps close to one half.
const mixupShape = 32

// Name is "mixup".
func (s MixupStep) Name() string { return "mixup" }

// Validate refuses a probability outside [0,1].
func (s MixupStep) Validate() error { return probabilityOf("mixup", s.Probability) }

func probabilityOf(name string, probability float64) error {
	if !(probability >= 0 && probability <= 1) {
		return fmt.Errorf("%s: probability %v is outside 0..1; give 0 to switch it off", name, probability)
	}
	return nil
}

// Apply draws the trigger; then the second image, its sample and the proportion.
func (s MixupStep) Apply(draw *Draw, sample Sample) (Sample, error) {
	if draw.Random.Float64() >= s.Probability {
		return sample, nil
	}
	other, err := s.Base.Sample(draw, draw.Random.IntN(draw.Source.Len()))
	if err != nil {
		return Sample{}, err
	}
	if other.Image.Width != sample.Image.Width || other.Image.Height != sample.Image.Height {
		return Sample{}, fmt.Errorf("samples of %dx%d and %dx%d pixels; give mixup the base of its pipeline",
			sample.Image.Width, sample.Image.Height, other.Image.Width, other.Image.Height)
	}
	gamma := distuv.Gamma{Alpha: mixupShape, Beta: 1, Src: draw.Random}
	x, y := gamma.Rand(), gamma.Rand()
	image := &Image{Width: sample.Image.Width, Height: sample.Image.Height,
		scene: mixed{sample.Image, other.Image, float32(x / (x + y))}}
	joined, err := Concat(sample.Target, other.Target)
	return Sample{Image: image, Target: joined}, err
}

// mixed is the scene of two images of one size, the first in the given proportion.
type mixed struct {
	a, b       *Image
	proportion float32
}

func (m mixed) painter() func(y int, row []float32) (from, to int) {
	paintA, paintB := m.a.painter(), m.b.painter()
	other := make([]float32, 3*m.b.Width)
	return func(y int, row []float32) (from, to int) {
		fromA, toA := paintA(y, row)
		fromB, toB := paintB(y, other)
		from, to = hull([]spans{{touched: span{fromA, toA}}, {touched: span{fromB, toB}}})
		for _, part := range []struct {
			row      []float32
			from, to int
		}{{row, fromA, toA}, {other, fromB, toB}} {
			fill(part.row[3*from:3*max(from, part.from)], padding)
			fill(part.row[3*min(part.to, to):3*to], padding)
		}
		for i := 3 * from; i < 3*to; i++ {
			row[i] = float32(m.proportion*row[i]) + float32((1-m.proportion)*other[i])
		}
		return from, to
	}
}
