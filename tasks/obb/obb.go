// Package obb defines the recorded part of the oriented-box task: backbone, neck
// and both head branches with their angle fields (YOLO26 specification, network
// section 7.6).
package obb

import (
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out ../../generated/obb .

// Classes is the number of classes of the published oriented-box models.
const Classes = 15

// Network is the published network at nano scale.
var Network = Define(yolo26.Nano, Classes)

// Define gives the network of a scale for a number of classes, at least 1. Its
// input is image, (N, 3, H, W), H and W multiples of 32 px; options apply to it,
// such as stage.Differentiable. Its outputs, for A anchors, are the class logits
// o2m_cls and o2o_cls, (N, A, classes), the box distances o2m_box and o2o_box,
// (N, A, 4), and the angles o2m_angle and o2o_angle, (N, A, 1).
//
// An objective may leave the angles without a cotangent; the angle stems then
// have absent gradients, which an optimizer keeps apart from zero.
func Define(scale yolo26.Scale, classes int, options ...stage.InputOption) *stage.Definition {
	return stage.Define("network", func(b *stage.Builder) {
		levels := yolo26.Trunk(b, scale, yolo26.Image(b, options...))
		for _, branch := range yolo26.Head(b, levels, yolo26.Oriented(classes)) {
			b.Output(branch.Name+"_cls", branch.Class)
			b.Output(branch.Name+"_box", branch.Box)
			b.Output(branch.Name+"_angle", branch.Angle, stage.OptionalTogether("angle"))
		}
	})
}
