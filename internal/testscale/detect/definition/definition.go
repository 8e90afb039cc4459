// Package definition is the detection network at test scale: every block of the
// published network, small enough for tests in float64 and for the demo.
package definition

import (
	"github.com/reprise-ml/reprise/tasks/detect"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out .. .

// Classes is the number of classes that the project's synthetic scenes draw.
const Classes = 4

// Network is the detection network at test scale.
var Network = detect.Define(yolo26.Test, Classes)
