// Package detect defines the recorded part of the axis-aligned detection task:
// backbone, neck and both head branches (YOLO26 specification, network section
// 7.6).
package detect

import (
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out ../../generated/detect .

// Classes is the number of classes of the published detection models.
const Classes = 80

// Network is the published network at nano scale.
var Network = Define(yolo26.Nano, Classes)

// Define gives the network of a scale for a number of classes, at least 1. Its
// input is image, (N, 3, H, W), H and W multiples of 32 px; options apply to it,
// such as stage.Differentiable. Its outputs, for A anchors, are the class logits
// o2m_cls and o2o_cls, (N, A, classes), and the box distances o2m_box and
// o2o_box, (N, A, 4). All of them have a cotangent in every step.
func Define(scale yolo26.Scale, classes int, options ...stage.InputOption) *stage.Definition {
	return stage.Define("network", func(b *stage.Builder) {
		levels := yolo26.Trunk(b, scale, yolo26.Image(b, options...))
		for _, branch := range yolo26.Head(b, levels, yolo26.Detection(classes)) {
			b.Output(branch.Name+"_cls", branch.Class)
			b.Output(branch.Name+"_box", branch.Box)
		}
	})
}
