package templates

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// inputGradient is a stage with the input gradient of one 3x3 layer.
func inputGradient(inputs, outputs, stride int) *shelf {
	s := newShelf("gradient")
	s.forward(&ir.Conv2dInputGradient{DY: s.fmap(outputs, 4*stride), Weight: s.master(outputs, inputs, 3, 3), DX: s.fmap(inputs, 4), Kernel: 3, Stride: stride, Groups: 1})
	return s
}

// Input gradients of stride 2 come from one tile of dY with one block for all
// parity classes, as long as a tile fits into the shared memory that every device
// has; layers that are deeper, and strides of 1, have another kernel.
func TestInputGradientsOfStrideTwo(t *testing.T) {
	for _, c := range []struct {
		inputs, outputs, stride int
		strided                 bool
	}{
		{16, 32, 2, true}, {64, 64, 2, true}, {72, 64, 2, true}, {128, 256, 2, true}, {256, 512, 2, true},
		{512, 1024, 2, false}, {64, 72, 2, false}, {64, 64, 1, false},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			l := mustLaunches(t, inputGradient(c.inputs, c.outputs, c.stride).stage)[0]
			require.Equal(t, c.strided, strings.HasPrefix(l.Kernel.Call, "convolution_strided_gradient<"), l.Kernel.Call)
			if !c.strided {
				return
			}
			require.LessOrEqual(t, l.Kernel.Shared, dynamicBytes)
			z, err := l.Grid[2].Eval(ir.Sizes{Batch: 1, Height: 32, Width: 32})
			require.NoError(t, err)
			require.EqualValues(t, 1, z)
			require.Contains(t, l.Kernel.Call, fmt.Sprintf(", %d, false, element", l.Kernel.Shared), "the kernel knows what the launch asks for")
		})
	}
}

// A launch asks for the dynamic shared memory of its kernel, and the back end
// finds the number in the table.
func TestSharedMemoryOfLaunches(t *testing.T) {
	s := inputGradient(64, 64, 2)
	l := mustLaunches(t, s.stage)[0]
	source, _, err := Wrapper(s.stage, "example")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(source), "kernel_shared[] = {\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "}")
	require.Contains(t, table, fmt.Sprintf("    %d,\n", l.Kernel.Shared))
	require.Greater(t, l.Kernel.Shared, 48<<10)
}

// The first layer is read in whole rows where these lie at multiples of 16 bytes
// in 16 bits; otherwise its windows are gathered.
func TestFirstLayer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(x *ir.Tensor)
		rows   bool
	}{
		"as it lies":    {func(*ir.Tensor) {}, true},
		"offset":        {func(x *ir.Tensor) { x.Offset = ir.Const(4) }, false},
		"wider pixels":  {func(x *ir.Tensor) { x.Strides = ir.ChannelsLast(side(8, 1)) }, false},
		"channel first": {func(x *ir.Tensor) { x.Strides = ir.RowMajor(x.Shape) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf("first")
			x := s.fmap(3, 1)
			c.change(s.stage.Tensor(x))
			s.forward(&ir.Conv2d{X: x, Weight: s.master(16, 3, 3, 3), Y: s.fmap(16, 2), Kernel: 3, Stride: 2, Groups: 1})
			call := mustLaunches(t, s.stage)[0].Kernel.Call
			require.Equal(t, c.rows, strings.HasPrefix(call, "convolution_narrow<"), call)
		})
	}
}
