// Package definition is the segmentation network at test scale: every block of
// the published network, small enough for tests in float64 and for the demo.
package definition

import (
	"github.com/reprise-ml/reprise/tasks/segment"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out .. .

// Classes is the number of classes that the project's synthetic scenes draw.
const Classes = 4

// The stages of the segmentation network at test scale.
var (
	Features     = yolo26.Features(yolo26.Test)
	Head         = segment.DefineHead(yolo26.Test, Classes)
	Coefficients = segment.DefineCoefficients(yolo26.Test)
	Fusion       = segment.DefineFusion(yolo26.Test)
	Prototypes   = segment.DefinePrototypes(yolo26.Test)
	Semantic     = segment.DefineSemantic(yolo26.Test, Classes)
)
