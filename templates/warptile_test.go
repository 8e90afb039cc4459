package templates

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// pointwiseLayer is the stage of one 1x1 layer of maps of size/down pixels a side.
func pointwiseLayer(inputs, outputs, down int, gradient bool) *ir.Stage {
	s := newShelf("pointwise")
	x, y, weight := s.fmap(inputs, down), s.fmap(outputs, down), s.master(outputs, inputs, 1, 1)
	if gradient {
		s.forward(&ir.Conv2dInputGradient{DY: y, Weight: weight, DX: x, Kernel: 1, Stride: 1, Groups: 1})
	} else {
		s.forward(&ir.Conv2d{X: x, Weight: weight, Y: y, Kernel: 1, Stride: 1, Groups: 1})
	}
	return s.stage
}

// Tiles give a large GPU enough blocks at the sizes that networks are trained at,
// and no more than run at once. Pixels are read once where the map is large.
func TestPointwiseTiles(t *testing.T) {
	for _, c := range []struct {
		inputs, outputs, down int
		gradient              bool
		shape                 string // of the tile
	}{
		{48, 64, 4, false, "128, 64>"},
		{48, 64, 4, true, "128, 64>"},
		{96, 128, 8, false, "64, 128>"},
		{256, 64, 8, true, "64, 128>"},
		{192, 128, 16, false, "64, 128>"},
		{64, 64, 16, false, "64, 64>"},
		{256, 256, 32, false, "64, 64>"},
		{128, 128, 32, true, "64, 32>"},
		{512, 256, 32, false, "64, 64>"},
		{128, 64, 32, false, "32, 32>"},
	} {
		launches := mustLaunches(t, pointwiseLayer(c.inputs, c.outputs, c.down, c.gradient))
		require.Len(t, launches, 1)
		l := launches[0]
		require.True(t, strings.HasPrefix(l.Kernel.Call, "convolution_pointwise<"), l.Kernel.Call)
		require.Contains(t, l.Kernel.Call, c.shape)
		for _, z := range []ir.Sizes{{Batch: 4, Height: 640, Width: 640}, {Batch: 4, Height: 1024, Width: 1024}} {
			x, err := l.Grid[0].Eval(z)
			require.NoError(t, err)
			y, err := l.Grid[1].Eval(z)
			require.NoError(t, err)
			require.GreaterOrEqual(t, x*y, int64(multiprocessors/2), "%+v at %s", c, z)
			require.LessOrEqual(t, x*y, int64(multiprocessors*l.Kernel.Blocks), "%+v at %s", c, z)
		}
	}
}

// Blocks have the memory that every device of compute capability 8.0 and more
// gives, and as many as the launch counts on fit a multiprocessor of a large one.
func TestPointwiseMemory(t *testing.T) {
	checked := 0
	for _, inputs := range []int{8, 21, 48, 136, 384, 512, 1024} {
		for _, outputs := range []int{1, 15, 64, 96, 256, 640} {
			for _, gradient := range []bool{false, true} {
				k := mustLaunches(t, pointwiseLayer(inputs, outputs, 16, gradient))[0].Kernel
				if !strings.HasPrefix(k.Call, "convolution_pointwise<") {
					continue
				}
				checked++
				require.LessOrEqual(t, k.Shared, dynamicBytes, k.Name)
				require.LessOrEqual(t, k.Blocks*(k.Shared+1<<10), multiprocessorShared, k.Name)
				require.LessOrEqual(t, k.Blocks*k.Threads, multiprocessorThreads, k.Name)
			}
		}
	}
	require.Greater(t, checked, 70)
}

// Layers that the kernel does not know keep the general one: more channels than
// the weights of the smallest tile may have, a result of single channels that is
// summed or added to, another stride.
func TestPointwiseLimits(t *testing.T) {
	kernel := func(stage *ir.Stage) string {
		name, _, _ := strings.Cut(mustLaunches(t, stage)[0].Kernel.Call, "<")
		return name
	}
	require.Equal(t, "convolution", kernel(pointwiseLayer(2048, 64, 32, false)))
	require.Equal(t, "convolution_pointwise", kernel(pointwiseLayer(1024, 64, 32, false)))

	for _, accumulate := range []bool{false, true} {
		s := newShelf("pointwise")
		s.forward(&ir.Conv2dInputGradient{DY: s.fmap(16, 4), Weight: s.master(16, 21, 1, 1), DX: s.fmap(21, 4), Kernel: 1, Stride: 1, Groups: 1, Accumulate: accumulate})
		require.Equal(t, map[bool]string{false: "convolution_pointwise", true: "convolution"}[accumulate], kernel(s.stage))
	}

	s := newShelf("pointwise")
	s.forward(&ir.Conv2d{X: s.fmap(16, 4), Weight: s.master(16, 16, 1, 1), Y: s.fmap(16, 8), Kernel: 1, Stride: 2, Groups: 1})
	require.Equal(t, "convolution", kernel(s.stage))
}

// Layers of several taps take the kernel that walks over them, but for those that
// it does not know: slices of other than 32 channels, gradients of a stride, more
// taps than a mask holds.
func TestTapsLimits(t *testing.T) {
	for _, c := range []struct {
		inputs, outputs, kernel, stride int
		gradient                        bool
		want                            string
	}{
		{64, 64, 3, 1, false, "convolution_taps"},
		{96, 256, 3, 2, false, "convolution_taps"},
		{64, 64, 5, 1, true, "convolution_taps"},
		{64, 64, 15, 1, false, "convolution_taps"},
		{64, 64, 17, 1, false, "convolution"},
		{48, 64, 3, 1, false, "convolution"},
		{64, 64, 1, 2, false, "convolution_taps"},
	} {
		s := newShelf("taps")
		x, y, weight := s.fmap(c.inputs, 8), s.fmap(c.outputs, 8*c.stride), s.master(c.outputs, c.inputs, c.kernel, c.kernel)
		if c.gradient {
			s.forward(&ir.Conv2dInputGradient{DY: y, Weight: weight, DX: x, Kernel: c.kernel, Stride: c.stride, Groups: 1})
		} else {
			s.forward(&ir.Conv2d{X: x, Weight: weight, Y: y, Kernel: c.kernel, Stride: c.stride, Groups: 1})
		}
		k := mustLaunches(t, s.stage)[0].Kernel
		name, _, _ := strings.Cut(k.Call, "<")
		require.Equal(t, c.want, name, "%+v", c)
		require.LessOrEqual(t, k.Shared, dynamicBytes)
	}
}

// 3x3 layers of few channels take the kernel that brings a window once for all
// taps; a gradient of stride 2 has a kernel of its own.
func TestWindowLimits(t *testing.T) {
	for _, c := range []struct {
		inputs, outputs, stride int
		gradient                bool
		want                    string
	}{
		{16, 16, 1, false, "convolution_window"},
		{16, 32, 2, false, "convolution_window"},
		{32, 32, 1, true, "convolution_window"},
		{16, 32, 2, true, "convolution_strided_gradient"},
		{16, 16, 2, true, "convolution_strided_gradient"},
		{32, 64, 1, false, "convolution_taps"},
	} {
		s := newShelf("window")
		x, y, weight := s.fmap(c.inputs, 4), s.fmap(c.outputs, 4*c.stride), s.master(c.outputs, c.inputs, 3, 3)
		if c.gradient {
			s.forward(&ir.Conv2dInputGradient{DY: y, Weight: weight, DX: x, Kernel: 3, Stride: c.stride, Groups: 1})
		} else {
			s.forward(&ir.Conv2d{X: x, Weight: weight, Y: y, Kernel: 3, Stride: c.stride, Groups: 1})
		}
		k := mustLaunches(t, s.stage)[0].Kernel
		name, _, _ := strings.Cut(k.Call, "<")
		require.Equal(t, c.want, name, "%+v", c)
		require.LessOrEqual(t, k.Blocks*(k.Shared+1<<10), multiprocessorShared)
	}
}
