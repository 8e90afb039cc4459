// Package segment defines the stages of the instance segmentation task: the
// features, which are backbone and neck, and one stage for each kind of
// prediction (YOLO26 specification, network sections 7.5 and 7.6).
//
//	stage         reads        gives
//	features      image        n3, n4, n5
//	head          n3, n4, n5   o2m_cls, o2m_box, o2o_cls, o2o_box
//	coefficients  n3, n4, n5   o2m_coeff, o2o_coeff
//	fusion        n3, n4, n5   fused
//	prototypes    fused        prototypes
//	semantic      fused        semantic, in training only
//
// They are apart because a batch without positives leaves the coefficients and
// the prototype net with absent gradients: a stage none of whose outputs has a
// cotangent has no backward pass.
package segment

import (
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

//go:generate go run github.com/reprise-ml/reprise/cmd/reprise gen -out ../../generated/segment .

// Classes is the number of classes of the published segmentation models.
const Classes = 80

// The stages of the published network at nano scale, in the order in which they
// run.
var (
	Features     = yolo26.Features(yolo26.Nano)
	Head         = DefineHead(yolo26.Nano, Classes)
	Coefficients = DefineCoefficients(yolo26.Nano)
	Fusion       = DefineFusion(yolo26.Nano)
	Prototypes   = DefinePrototypes(yolo26.Nano)
	Semantic     = DefineSemantic(yolo26.Nano, Classes)
)

// Define gives the stages of a network for a number of classes, at least 1, in
// the order in which they run. Options apply to the image, (N, 3, H, W), H and W
// multiples of 32 px.
func Define(scale yolo26.Scale, classes int, options ...stage.InputOption) []*stage.Definition {
	return []*stage.Definition{
		yolo26.Features(scale, options...),
		DefineHead(scale, classes),
		DefineCoefficients(scale),
		DefineFusion(scale),
		DefinePrototypes(scale),
		DefineSemantic(scale, classes),
	}
}

// DefineHead gives the stage "head": for A anchors the class logits o2m_cls and
// o2o_cls, (N, A, classes), and the box distances o2m_box and o2o_box, (N, A, 4).
func DefineHead(scale yolo26.Scale, classes int) *stage.Definition {
	return stage.Define("head", func(b *stage.Builder) {
		levels := yolo26.LevelInputs(b, scale)
		for _, branch := range yolo26.Head(b, levels, yolo26.Detection(classes)) {
			b.Output(branch.Name+"_cls", branch.Class)
			b.Output(branch.Name+"_box", branch.Box)
		}
	})
}

// DefineCoefficients gives the stage "coefficients": the mask coefficients
// o2m_coeff and o2o_coeff, (N, A, 32), in (-1, 1). Either may be without a
// cotangent.
func DefineCoefficients(scale yolo26.Scale) *stage.Definition {
	return stage.Define("coefficients", func(b *stage.Builder) {
		levels := yolo26.LevelInputs(b, scale)
		for _, branch := range yolo26.Coefficients(b, levels) {
			b.Output(branch.Name+"_coeff", branch.Coefficient, stage.Optional())
		}
	})
}

// DefineFusion gives the stage "fusion": the map fused, (N, C3, H/8, W/8), that
// prototypes and semantic logits share.
func DefineFusion(scale yolo26.Scale) *stage.Definition {
	return stage.Define("fusion", func(b *stage.Builder) {
		b.Output("fused", yolo26.Fuse(b, yolo26.LevelInputs(b, scale)))
	})
}

// DefinePrototypes gives the stage "prototypes": the mask prototypes, (N, 32,
// H/4, W/4).
func DefinePrototypes(scale yolo26.Scale) *stage.Definition {
	return stage.Define("prototypes", func(b *stage.Builder) {
		b.Output("prototypes", yolo26.PrototypeNet(b, fused(b, scale)))
	})
}

// DefineSemantic gives the stage "semantic": class logits (N, classes, H/8, W/8)
// that exist in training only.
func DefineSemantic(scale yolo26.Scale, classes int) *stage.Definition {
	return stage.Define("semantic", func(b *stage.Builder) {
		b.Output("semantic", yolo26.Semantic(b, fused(b, scale), classes), stage.TrainingOnly())
	})
}

// fused declares the map that the stage "fusion" gives.
func fused(b *stage.Builder, scale yolo26.Scale) stage.Tensor {
	b.Multiple(yolo26.Stride)
	shape := stage.Shape{stage.Batch, stage.Size(scale.Channels(256)), stage.Height.Over(8), stage.Width.Over(8)}
	return b.Input("fused", shape, stage.Differentiable())
}
