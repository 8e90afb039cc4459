package data

import (
	"fmt"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Sample is one image with its target, in the same canvas.
type Sample struct {
	Image  *Image
	Target Target
	// Jitter is how the colours of the finished image are changed.
	Jitter device.Jitter
}

// Source gives images in their native size. Native may be called by several
// workers at once.
type Source interface {
	Len() int
	Native(i int) (Native, error)
}

// Draw is what a step may use besides its sample.
type Draw struct {
	// Random is the stream of this (seed, epoch, image index).
	Random *rand.Rand
	// Epoch counts from 0.
	Epoch int
	// Source gives further images to those that combine several.
	Source Source
}

func (d *Draw) uniform(low, high float64) float64 {
	// The conversion forbids a fused multiply-add, which would make the drawn
	// numbers depend on the processor.
	return low + float64((high-low)*d.Random.Float64())
}

// Base makes the sample that a pipeline starts from: the geometric part, from
// images in their native size to the canvas of the network. Bases are shared by
// all workers, so they hold settings and no state.
type Base interface {
	// Name is the base in error messages.
	Name() string
	// Validate reports a setting out of its range, with the remedy.
	Validate() error
	// Sample makes the sample of an image index. It draws the same numbers in
	// the same order for the same index.
	Sample(draw *Draw, index int) (Sample, error)
}

// Step is one stage of augmentation after the base. Apply may write into the image
// of its argument and leaves the target's lists as they were; it draws the same
// numbers in the same order for the same sample. Steps are shared by all workers,
// so they hold settings and no state.
type Step interface {
	// Name is the step in error messages.
	Name() string
	// Validate reports a setting out of its range, with the remedy.
	Validate() error
	Apply(draw *Draw, sample Sample) (Sample, error)
}

// Pipeline is a base and an ordered list of steps; the order is that of the data
// and evaluation specification, section 6.1.
type Pipeline struct {
	Base  Base
	Steps []Step
}

// ValidationPipeline is the letterbox to size x size pixels alone.
func ValidationPipeline(size int) Pipeline {
	return Pipeline{Base: LetterboxBase{Size: size}}
}

// Validate reports the first part with a bad setting.
func (p Pipeline) Validate() error {
	if err := p.Base.Validate(); err != nil {
		return err
	}
	for _, step := range p.Steps {
		if err := step.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Sample makes the sample of an image index.
func (p Pipeline) Sample(draw *Draw, index int) (Sample, error) {
	sample, err := p.Base.Sample(draw, index)
	if err != nil {
		return Sample{}, fmt.Errorf("augmentation base %s: %w", p.Base.Name(), err)
	}
	for _, step := range p.Steps {
		if sample, err = step.Apply(draw, sample); err != nil {
			return Sample{}, fmt.Errorf("augmentation step %s: %w", step.Name(), err)
		}
	}
	return sample, nil
}
