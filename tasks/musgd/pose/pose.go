// Package pose defines the optimizer of the published keypoint network at nano scale.
package pose

import (
	"github.com/reprise-ml/reprise/tasks/musgd"
	"github.com/reprise-ml/reprise/tasks/pose"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out ../../../generated/optimizer/pose .

// Optimizer has a class for every size of matrix in the network's stages.
var Optimizer = musgd.Define("optimizer", musgd.Steps, pose.Features, pose.Head)
