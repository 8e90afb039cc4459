// Package segment defines the optimizer of the published segmentation network at nano scale.
package segment

import (
	"github.com/reprise-ml/reprise/tasks/musgd"
	"github.com/reprise-ml/reprise/tasks/segment"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out ../../../generated/optimizer/segment .

// Optimizer has a class for every size of matrix in the network's stages.
var Optimizer = musgd.Define("optimizer", musgd.Steps, segment.Features, segment.Head, segment.Coefficients, segment.Fusion, segment.Prototypes, segment.Semantic)
