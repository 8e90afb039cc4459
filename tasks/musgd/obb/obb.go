// Package obb defines the optimizer of the published oriented-box network at nano scale.
package obb

import (
	"github.com/reprise-ml/reprise/tasks/musgd"
	"github.com/reprise-ml/reprise/tasks/obb"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out ../../../generated/optimizer/obb .

// Optimizer has a class for every size of matrix in the network's stages.
var Optimizer = musgd.Define("optimizer", musgd.Steps, obb.Network)
