// Package definition is the keypoint network at test scale: every block of the
// published network, small enough for tests in float64 and for the demo.
package definition

import (
	"github.com/reprise-ml/reprise/tasks/pose"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out .. .

// Classes is the number of classes that the project's synthetic scenes draw.
const Classes = 4

// The stages of the keypoint network at test scale.
var (
	Features = yolo26.Features(yolo26.Test)
	Head     = pose.DefineHead(yolo26.Test, Classes, pose.Points)
)
