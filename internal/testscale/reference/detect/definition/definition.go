// Package definition is the detection network of the reference cases: test scale,
// with a gradient for the image.
package definition

import (
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/tasks/detect"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out .. .

// Classes is the number of classes of the reference case.
const Classes = 4

// Network is the network of the reference cases.
var Network = detect.Define(yolo26.Test, Classes, stage.Differentiable())
