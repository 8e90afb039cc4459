// Package definition is the detection network at test scale: every block of the
// published network, small enough for tests in float64.
package definition

import (
	"github.com/reprise-ml/reprise/tasks/detect"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out .. .

// Network is the detection network at test scale.
var Network = detect.Define(yolo26.Test, detect.Classes)
