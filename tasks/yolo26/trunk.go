package yolo26

import "github.com/reprise-ml/reprise/gen/stage"

// Stride is the stride of the coarsest level: heights and widths of images are
// multiples of it.
const Stride = 32

// Levels are three maps at strides 8, 16 and 32, in this order.
type Levels [3]stage.Tensor

// Image declares the input of a network: image, (N, 3, H, W), RGB in [0, 1],
// height and width multiples of Stride pixels.
func Image(b *stage.Builder, options ...stage.InputOption) stage.Tensor {
	b.Multiple(Stride)
	return b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width}, options...)
}

// Trunk is backbone and neck: from an image (N, 3, H, W) to the levels N3, N4
// and N5 that a head reads.
func Trunk(b *stage.Builder, s Scale, image stage.Tensor) Levels {
	return Neck(b.Scope("neck"), s, Backbone(b.Scope("backbone"), s, image))
}

// levelNames are the ports of the levels, where one stage gives them and others
// take them.
var levelNames = [3]string{"n3", "n4", "n5"}

// Features defines the stage "features": backbone and neck, from the image to
// the levels n3, n4 and n5 as outputs. Options apply to the image.
func Features(s Scale, options ...stage.InputOption) *stage.Definition {
	return stage.Define("features", func(b *stage.Builder) {
		levels := Trunk(b, s, Image(b, options...))
		for i, name := range levelNames {
			b.Output(name, levels[i])
		}
	})
}

// LevelInputs declares the levels that Features gives as inputs of a stage:
// n3, n4 and n5, (N, C, H/8, W/8) to (N, C, H/32, W/32) for images of H x W
// pixels, with gradients for the stage that made them.
func LevelInputs(b *stage.Builder, s Scale) Levels {
	b.Multiple(Stride)
	var levels Levels
	for i, name := range levelNames {
		cell := 8 << i
		shape := stage.Shape{stage.Batch, stage.Size(s.Channels(256 << i)), stage.Height.Over(cell), stage.Width.Over(cell)}
		levels[i] = b.Input(name, shape, stage.Differentiable())
	}
	return levels
}

// Backbone is the strictly sequential feature extractor; it gives the taps P3,
// P4 and P5 (YOLO26 specification, network section 4).
func Backbone(b *stage.Builder, s Scale, image stage.Tensor) Levels {
	down := func(name string, x stage.Tensor, base int) stage.Tensor {
		return CBS(b.Scope(name), x, stage.Conv{Out: s.Channels(base), Kernel: 3, Stride: 2})
	}
	block := func(name string, x stage.Tensor, base int, expansion float64, inner Inner) stage.Tensor {
		return C3k2(b.Scope(name), x, C3k2Shape{Out: s.Channels(base), Repeats: s.Repeats(), Expansion: expansion}, inner)
	}
	x := down("stem", image, 64)
	x = down("down_p2", x, 128)
	x = block("stage_p2", x, 256, 0.25, Bottleneck)
	x = down("down_p3", x, 256)
	p3 := block("stage_p3", x, 512, 0.25, Bottleneck)
	x = down("down_p4", p3, 512)
	p4 := block("stage_p4", x, 512, 0.5, Nested)
	x = down("down_p5", p4, 1024)
	x = block("stage_p5", x, 1024, 0.5, Nested)
	x = SPPF(b.Scope("sppf"), x)
	p5 := C2PSA(b.Scope("attn_p5"), x, s.Repeats())
	return Levels{p3, p4, p5}
}

// Neck mixes the taps of the backbone from coarse to fine and back, and gives
// N3, N4 and N5 (YOLO26 specification, network section 5).
func Neck(b *stage.Builder, s Scale, p Levels) Levels {
	down := func(name string, x stage.Tensor) stage.Tensor {
		return CBS(b.Scope(name), x, stage.Conv{Out: x.Channels(), Kernel: 3, Stride: 2})
	}
	block := func(name string, coarse, fine stage.Tensor, base, repeats int, inner Inner) stage.Tensor {
		shape := C3k2Shape{Out: s.Channels(base), Repeats: repeats, Expansion: 0.5}
		return C3k2(b.Scope(name), b.Concat(coarse, fine), shape, inner)
	}
	t4 := block("top_down_p4", b.Upsample(p[2]), p[1], 512, s.Repeats(), Nested)
	n3 := block("top_down_p3", b.Upsample(t4), p[0], 256, s.Repeats(), Bottleneck)
	n4 := block("bottom_up_p4", down("down_n3", n3), t4, 512, s.Repeats(), Bottleneck)
	n5 := block("bottom_up_p5", down("down_n4", n4), p[2], 1024, 1, AttentionTail)
	return Levels{n3, n4, n5}
}
