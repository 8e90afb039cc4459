package data

import (
	"fmt"

	"github.com/reprise-ml/reprise/runtime/device"
)

// HSVStep is the pipeline step that jitters hue, saturation and value (data and
// evaluation specification, section 6.7). The fields are the half-ranges of the
// uniform gains, drawn in that order.
//
// The step draws and leaves the colours alone: the jitter is applied to the 8-bit
// codes of the finished image, by the loader or on the device, with the same
// result. The colours are therefore rounded to codes once more than in a pipeline
// of floats, by at most half a code before the gains.
type HSVStep struct {
	// Hue is added modulo 1, Saturation and Value multiply by 1 + gain.
	Hue, Saturation, Value float64
}

// DefaultHSV are the half-ranges of the YOLO26 recipe.
var DefaultHSV = HSVStep{Hue: 0.015, Saturation: 0.7, Value: 0.4}

// Name is "hsv".
func (s HSVStep) Name() string { return "hsv" }

// Validate refuses half-ranges outside [0,1].
func (s HSVStep) Validate() error {
	for _, half := range [3]float64{s.Hue, s.Saturation, s.Value} {
		if !(half >= 0 && half <= 1) {
			return fmt.Errorf("hsv: half-range %v is outside 0..1; the recipe uses 0.015, 0.7 and 0.4", half)
		}
	}
	return nil
}

// Apply draws the three gains.
func (s HSVStep) Apply(draw *Draw, sample Sample) (Sample, error) {
	hue := draw.uniform(-s.Hue, s.Hue)
	saturation := draw.uniform(-s.Saturation, s.Saturation)
	value := draw.uniform(-s.Value, s.Value)
	sample.Jitter = device.NewJitter(hue, saturation, value)
	return sample, nil
}
