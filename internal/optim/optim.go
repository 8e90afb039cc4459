// Package optim is the host side of one optimizer step of a YOLO26 fit: the
// MuSGD optimizer, global-norm clipping, learning-rate and loss-branch
// schedules, the exponential moving average of the weights, dynamic loss
// scaling and gradient accumulation.
//
// A gradient is absent, zero or a value, and the difference is kept: an absent
// gradient (a nil slice) leaves a tensor and its state alone, a zero gradient is
// a complete update (YOLO26 specification, training section 4.5).
//
// All results are independent of GOMAXPROCS: parallelism is over tensors, and
// everything inside one tensor happens in one fixed order.
package optim

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Tensor is a named, row-major floating-point tensor. Value has as many
// elements as the product of Shape; a scalar has an empty Shape and one element.
type Tensor[T device.Float] struct {
	Name  string
	Shape []int
	Value []T
}

// Parameter is a trained tensor with its gradient. A nil Gradient is absent: the
// parameter took no part in this step. Otherwise Gradient has the length of
// Value.
type Parameter[T device.Float] struct {
	Name     string
	Shape    []int
	Value    []T
	Gradient []T
}

// check reports a name, shape or length that no step can work with.
func (p *Parameter[T]) check() error {
	if err := checkTensor(p.Name, p.Shape, len(p.Value)); err != nil {
		return err
	}
	if p.Gradient != nil && len(p.Gradient) != len(p.Value) {
		return fmt.Errorf("parameter %q has %d elements and a gradient of %d; give a gradient of the parameter's size, or nil when it is absent",
			p.Name, len(p.Value), len(p.Gradient))
	}
	return nil
}

// checkTensor reports an empty name, a dimension below one, or a length that is
// not the product of the shape.
func checkTensor(name string, shape []int, length int) error {
	if name == "" {
		return fmt.Errorf("a tensor of shape %v has no name; optimizer state is kept by name", shape)
	}
	size := 1
	for _, dimension := range shape {
		if dimension < 1 || size > math.MaxInt/dimension {
			return fmt.Errorf("tensor %q has shape %v; every dimension must be positive and the size representable", name, shape)
		}
		size *= dimension
	}
	if size != length {
		return fmt.Errorf("tensor %q has shape %v (%d elements) and %d values", name, shape, size, length)
	}
	return nil
}
