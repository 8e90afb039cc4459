// Package definition is the oriented-box network at test scale: every block of
// the published network, small enough for tests in float64.
package definition

import (
	"github.com/reprise-ml/reprise/tasks/obb"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out .. .

// Network is the oriented-box network at test scale.
var Network = obb.Define(yolo26.Test, obb.Classes)
