// Package definition is the oriented-box network of the reference cases: test
// scale, with a gradient for the image.
package definition

import (
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/tasks/obb"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out .. .

// Network is the network of the reference cases.
var Network = obb.Define(yolo26.Test, obb.Classes, stage.Differentiable())
