// Package definition defines the optimizer of the detection network at test scale.
package definition

import (
	"github.com/reprise-ml/reprise/internal/testscale/detect/definition"
	"github.com/reprise-ml/reprise/tasks/musgd"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out .. .

// Optimizer has a class for every size of matrix in the network's stages.
var Optimizer = musgd.Define("optimizer", musgd.Steps, definition.Network)
