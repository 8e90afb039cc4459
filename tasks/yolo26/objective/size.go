package objective

import (
	"fmt"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Size is the size of a batch: images, input pixels and classes.
type Size struct {
	Batch, Height, Width, Classes int
}

// Grid checks the size and returns its anchors. It needs at least one image and
// one class, and sides that are positive multiples of 32.
func (s Size) Grid() (*Grid, error) {
	if s.Batch < 1 || s.Classes < 1 {
		return nil, fmt.Errorf("a batch of %d images with %d classes; give at least one of each", s.Batch, s.Classes)
	}
	levels, err := CanvasLevels(s.Height, s.Width)
	if err != nil {
		return nil, err
	}
	return NewGrid(levels...), nil
}

// CheckOutput compares the length of the named output with its shape, images x
// anchors x channels.
func CheckOutput(name string, length, images, anchors, channels int) error {
	if want := images * anchors * channels; length != want {
		return fmt.Errorf("%s output has %d elements, want %d x %d x %d = %d; pass the output of a network built for this size and number of classes",
			name, length, images, anchors, channels, want)
	}
	return nil
}

// CheckAlpha reports a one-to-many weight outside [0,1].
func CheckAlpha(alpha float64) error {
	if alpha >= 0 && alpha <= 1 {
		return nil
	}
	return fmt.Errorf("one-to-many weight of %v; give a number in [0,1]", alpha)
}

// Finite reports whether every element of every output is a finite number. A
// total must not be finite otherwise, yet most terms read positive anchors only
// and cannot see the others.
func Finite[T device.Float](outputs ...[]T) bool {
	for _, output := range outputs {
		for _, value := range output {
			// The difference is not 0 for infinities and for what is no number.
			if value-value != 0 {
				return false
			}
		}
	}
	return true
}
