package yolo26

import "github.com/reprise-ml/reprise/gen/stage"

// CBS is convolution, batch norm and SiLU: (N, C, H, W) to
// (N, c.Out, H/c.Stride, W/c.Stride). State entries: conv.weight and bn.*
// (YOLO26 specification, network sections 1 and 9).
func CBS(b *stage.Builder, x stage.Tensor, c stage.Conv) stage.Tensor {
	x = b.Scope("conv").Conv2d(x, c)
	x = b.Scope("bn").BatchNorm(x, stage.Norm{})
	return b.SiLU(x)
}

// CB is convolution and batch norm without activation. State entries: 0.weight
// and 1.*.
func CB(b *stage.Builder, x stage.Tensor, c stage.Conv) stage.Tensor {
	x = b.Scope("0").Conv2d(x, c)
	return b.Scope("1").BatchNorm(x, stage.Norm{})
}

// Depthwise is a CBS with a 3x3 window per channel. State entries:
// conv.conv.weight and conv.bn.*.
func Depthwise(b *stage.Builder, x stage.Tensor) stage.Tensor {
	channels := x.Channels()
	return CBS(b.Scope("conv"), x, stage.Conv{Out: channels, Kernel: 3, Groups: channels})
}

// Separable is Depthwise (unit 0) and a 1x1 CBS to out channels (unit 1).
func Separable(b *stage.Builder, x stage.Tensor, out int) stage.Tensor {
	x = Depthwise(b.Scope("0"), x)
	return CBS(b.Scope("1"), x, stage.Conv{Out: out})
}
