package data

import (
	"fmt"
	"math/rand/v2"
)

// Sample is one image with its target, in the same canvas.
type Sample struct {
	Image  *Image
	Target Target
}

// Draw is what a step may use besides its sample.
type Draw struct {
	// Random is the stream of this (seed, epoch, image index).
	Random *rand.Rand
}

func (d *Draw) uniform(low, high float64) float64 {
	return low + (high-low)*d.Random.Float64()
}

// Step is one stage of augmentation. Apply returns a new sample and leaves its
// argument as it was; it draws the same numbers in the same order for the same
// sample. Steps are shared by all workers, so they hold settings and no state.
type Step interface {
	// Name is the step in error messages.
	Name() string
	// Validate reports a setting out of its range, with the remedy.
	Validate() error
	Apply(draw *Draw, sample Sample) (Sample, error)
}

// Pipeline is an ordered list of steps; the order is that of the data and
// evaluation specification, section 6.1.
type Pipeline []Step

// TrainingPipeline is the letterbox to size x size pixels, the HSV jitter and
// the horizontal flip of the YOLO26 recipe.
func TrainingPipeline(size int) Pipeline {
	return Pipeline{LetterboxStep{Size: size}, DefaultHSV, FlipStep{Probability: 0.5}}
}

// ValidationPipeline is the letterbox to size x size pixels alone.
func ValidationPipeline(size int) Pipeline {
	return Pipeline{LetterboxStep{Size: size}}
}

// Validate reports the first step with a bad setting.
func (p Pipeline) Validate() error {
	for _, step := range p {
		if err := step.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Apply runs the steps in order.
func (p Pipeline) Apply(draw *Draw, sample Sample) (Sample, error) {
	for _, step := range p {
		var err error
		if sample, err = step.Apply(draw, sample); err != nil {
			return Sample{}, fmt.Errorf("augmentation step %s: %w", step.Name(), err)
		}
	}
	return sample, nil
}
