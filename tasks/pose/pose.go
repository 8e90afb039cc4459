// Package pose defines the stages of the keypoint task: the features, which are
// backbone and neck, and the head with both branches (YOLO26 specification,
// network section 7.6).
//
// They are apart because a batch without positives leaves the keypoint stems
// with absent gradients. A recording of the features alone is right for every
// objective; the head declares its keypoints optional, so that it has one
// backward program for each set of outputs that an objective may use.
package pose

import (
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out ../../generated/pose .

// Classes and Points are those of the published person models.
const (
	Classes = 1
	Points  = 17
)

// The stages of the published network at nano scale, in the order in which they
// run.
var (
	Features = yolo26.Features(yolo26.Nano)
	Head     = DefineHead(yolo26.Nano, Classes, Points)
)

// Define gives the stages of a network for a number of classes and of keypoints,
// at least 1 each, in the order in which they run. Options apply to the image,
// (N, 3, H, W), H and W multiples of 32 px.
func Define(scale yolo26.Scale, classes, points int, options ...stage.InputOption) []*stage.Definition {
	return []*stage.Definition{yolo26.Features(scale, options...), DefineHead(scale, classes, points)}
}

// DefineHead gives the stage "head", which reads the levels n3, n4 and n5. Its
// outputs, for A anchors, are the class logits o2m_cls and o2o_cls, (N, A,
// classes), the box distances o2m_box and o2o_box, (N, A, 4), and the keypoints
// o2m_keypoint and o2o_keypoint, (N, A, 4*points): offsets x, y in stride units
// and raw spreads x, y of each point.
//
// Each keypoint output may be without a cotangent; its stems then have absent
// gradients, which an optimizer keeps apart from zero.
func DefineHead(scale yolo26.Scale, classes, points int) *stage.Definition {
	return stage.Define("head", func(b *stage.Builder) {
		if points < 1 {
			panic("a keypoint head without keypoints; give at least 1") // a mistake of the definition, which Build reports
		}
		levels := yolo26.LevelInputs(b, scale)
		for _, branch := range yolo26.Head(b, levels, yolo26.Pose(classes, points)) {
			b.Output(branch.Name+"_cls", branch.Class)
			b.Output(branch.Name+"_box", branch.Box)
			b.Output(branch.Name+"_keypoint", branch.Keypoint, stage.Optional())
		}
	})
}
