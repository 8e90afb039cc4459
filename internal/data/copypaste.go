package data

import (
	"github.com/reprise-ml/reprise/internal/eval/mask"
)

// CopyPasteStep pastes every instance of a second sample over a sample, cut out
// along its ring (data and evaluation specification, section 6.6). Instances that
// are covered keep their targets. Where either sample has instances without
// rings, or rotated boxes, nothing is pasted.
type CopyPasteStep struct {
	Probability float64
	// Base makes the second sample.
	Base Base
}

// Name is "copy-paste".
func (s CopyPasteStep) Name() string { return "copy-paste" }

// Validate refuses a probability outside [0,1].
func (s CopyPasteStep) Validate() error { return probabilityOf("copy-paste", s.Probability) }

// Apply draws the trigger; then the second image and its sample.
func (s CopyPasteStep) Apply(draw *Draw, sample Sample) (Sample, error) {
	if draw.Random.Float64() >= s.Probability || !outlined(sample.Target) {
		return sample, nil
	}
	other, err := s.Base.Sample(draw, draw.Random.IntN(draw.Source.Len()))
	if err != nil {
		return Sample{}, err
	}
	defer recycle(other.Image)
	if !outlined(other.Target) {
		return sample, nil
	}
	below, above := sample.Image.Codes(), other.Image.Codes()
	for i, ring := range other.Target.Polygons {
		shape := mask.Rasterise(ring, sample.Image.Width, sample.Image.Height)
		box := other.Target.Boxes[i].Clamp(float64(shape.Width), float64(shape.Height))
		for row := int(box.Y1); row < shape.Height && row <= int(box.Y2); row++ {
			for column := int(box.X1); column < shape.Width && column <= int(box.X2); column++ {
				if shape.At(row, column) {
					at := 3 * (row*shape.Width + column)
					copy(below[at:at+3], above[at:at+3])
				}
			}
		}
	}
	joined, err := Concat(sample.Target, other.Target)
	return Sample{Image: sample.Image, Target: joined}, err
}

// outlined reports whether every instance has a ring and none is oriented.
func outlined(t Target) bool { return len(t.Polygons) == t.Len() && len(t.Rotated) == 0 }
