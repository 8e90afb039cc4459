package yolo26

import (
	"strconv"

	"github.com/reprise-ml/reprise/gen/stage"
)

// Prototypes is the number of mask prototypes, and so of mask coefficients
// (YOLACT).
const Prototypes = 32

// Fuse adds N4 and N5, projected to the width of N3 and brought to its size, to
// N3: (N, C3, H/8, W/8). State entries: proto_fusion.projections.0 and .1
// (YOLO26 specification, network section 7.5).
func Fuse(b *stage.Builder, levels Levels) stage.Tensor {
	b = b.Scope("proto_fusion")
	fused := levels[0]
	for i, coarse := range levels[1:] {
		projected := b.Scope("projections", strconv.Itoa(i)).Conv2d(coarse, stage.Conv{Out: levels[0].Channels(), Bias: stage.UniformBias})
		fused = b.Add(fused, b.UpsampleTo(projected, levels[0]))
	}
	return fused
}

// PrototypeNet turns the fused map into mask prototypes at twice its size:
// (N, Prototypes, H/4, W/4). State entries: protonet.layers.0, 1, 2, 4, 5; layer
// 3 is the upsampling.
func PrototypeNet(b *stage.Builder, fused stage.Tensor) stage.Tensor {
	layer := func(i int) *stage.Builder { return b.Scope("protonet", "layers", strconv.Itoa(i)) }
	conv := stage.Conv{Out: fused.Channels(), Kernel: 3}
	x := fused
	for i := range 3 {
		x = CBS(layer(i), x, conv)
	}
	x = layer(3).Upsample(x)
	x = CBS(layer(4), x, conv)
	return layer(5).Conv2d(x, stage.Conv{Out: Prototypes, Bias: stage.UniformBias})
}

// Semantic gives class logits for each position of the fused map, (N, classes,
// H/8, W/8): an auxiliary signal of training, so its output is to be declared
// TrainingOnly. State entry: semantic.classifier.
func Semantic(b *stage.Builder, fused stage.Tensor, classes int) stage.Tensor {
	return b.Scope("semantic", "classifier").Conv2d(fused, stage.Conv{Out: classes, Bias: classBias()})
}
