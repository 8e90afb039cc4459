// Package detect defines the optimizer of the published detection network at nano scale.
package detect

import (
	"github.com/reprise-ml/reprise/tasks/detect"
	"github.com/reprise-ml/reprise/tasks/musgd"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out ../../../generated/optimizer/detect .

// Optimizer has a class for every size of matrix in the network's stages.
var Optimizer = musgd.Define("optimizer", musgd.Steps, detect.Network)
