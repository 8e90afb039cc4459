package objective

import (
	"github.com/reprise-ml/reprise/runtime/device"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Branch holds the raw outputs of one head branch, or their cotangents, flat
// and row-major.
type Branch[T device.Float] struct {
	// Class is (B,A,C): logits.
	Class []T
	// Box is (B,A,4): left, top, right, bottom in stride units.
	Box []T
	// Angle is (B,A,1): radians.
	Angle []T
}

// Outputs holds the raw outputs of the network.
type Outputs[T device.Float] struct {
	OneToMany, OneToOne Branch[T]
}

// Cotangents holds the derivatives of the total by the raw outputs, in the same
// shapes. A nil slice is an absent cotangent: the output took no part in the
// total, which the optimizer keeps apart from a derivative of 0. The default
// objective leaves none absent. They are numbers without a history, so nothing
// can be derived through them a second time.
type Cotangents[T device.Float] struct {
	OneToMany, OneToOne Branch[T]
}

// Size is the size of a batch: images, input pixels and classes.
type Size = yolo26.Size

// Target is the ground truth of one image. The three slices have one element
// per object, none for a background image.
type Target struct {
	// Labels are class indices in 0..C-1.
	Labels []int
	// Boxes are the stored axis-aligned envelopes, in pixels. They decide the
	// overlap in assignment.
	Boxes []yolo26.Box
	// Rotated are the rotated boxes, in pixels and radians, in any form.
	Rotated []yolo26.RotatedBox
}

// finite reports whether every output of the branch is a finite number.
func (b Branch[T]) finite() bool {
	return yolo26.Finite(b.Class, b.Box, b.Angle)
}

// dense is the part of the branch that every YOLO26 task has.
func (b Branch[T]) dense() yolo26.Dense[T] {
	return yolo26.Dense[T]{Class: b.Class, Box: b.Box}
}
