// Package definition is the keypoint network of the reference cases: test scale,
// with a gradient for the image.
package definition

import (
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/tasks/pose"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out .. .

// The stages of the network of the reference cases. The features are also those of
// the segmentation cases, whose other stages are the ones of test scale.
var (
	Features = yolo26.Features(yolo26.Test, stage.Differentiable())
	Head     = pose.DefineHead(yolo26.Test, pose.Classes, pose.Points)
)
