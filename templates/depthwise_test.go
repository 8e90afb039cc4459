package templates

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// gradientsOf is the backward pass of a depthwise layer with a batch norm below.
func gradientsOf(kernel, stride int) *shelf {
	const c = 32
	s := newShelf("depthwise")
	x, dx, below, dy := s.fmap(c, 4), s.fmap(c, 4), s.fmap(c, 4), s.fmap(c, 4*stride)
	s.forward(&ir.Conv2dInputGradient{DY: dy, Weight: s.master(c, 1, kernel, kernel), DX: dx, Kernel: kernel, Stride: stride, Groups: c})
	s.forward(&ir.Conv2dWeightGradient{X: x, DY: dy, DWeight: s.master(c, 1, kernel, kernel), Kernel: kernel, Stride: stride, Groups: c})
	s.forward(&ir.NormalizeReduce{DY: dx, X: below, Mean: s.master(c), Rstd: s.master(c), Scale: s.master(c), Shift: s.master(c), DScale: s.master(c), DShift: s.master(c), Activation: ir.SiLU})
	return s
}

// One kernel makes both gradients of a depthwise layer and the sums of the batch
// norm below. The second pass of the weight gradient finds its partial sums where
// they were left.
func TestDepthwiseGradientsTogether(t *testing.T) {
	s := gradientsOf(3, 1)
	require.Equal(t, []string{"depthwise_gradients with gradient_sums", "weight_gradient_reduce", "normalize_reduce_finish"}, kernelsOf(t, s.stage, ir.Training))
	lists, err := Launches(s.stage, s.stage.Forward, ir.Training)
	require.NoError(t, err)
	z := ir.Sizes{Batch: 4, Height: 1024, Width: 1024}
	blocks, err := lists[0][0].Grid[0].Eval(z)
	require.NoError(t, err)
	require.EqualValues(t, 2*multiprocessors, blocks)
	scratch, err := lists[0][0].Scratch.Eval(z)
	require.NoError(t, err)
	require.EqualValues(t, blocks*32*8, scratch)
	text := func(list []Launch, name string) string {
		for _, f := range list[0].arguments {
			if f.name == name {
				return f.value
			}
		}
		return ""
	}
	require.Equal(t, "kept(c, lane)", text(lists[0], "weight_partial"))
	require.Equal(t, "c->scratch[lane]", text(lists[0], "dx.partial"))
	require.Contains(t, text(lists[1], "entry"), "{kept(c, lane), ")
	require.Contains(t, text(lists[1], "entry"), "(int32_t)("+lists[0][0].Grid[0].C()+")")
}

// Partial sums that an input gradient has left stay where they are when a batch
// ends before their weight gradient comes.
func TestPartialSumsOutliveABatch(t *testing.T) {
	s := gradientsOf(3, 1)
	dw := s.master(16, 16, 1, 1) // in the arena: the batch ends with it
	s.forward(&ir.Conv2dWeightGradient{X: s.fmap(16, 4), DY: s.fmap(16, 4), DWeight: dw, Kernel: 1, Stride: 1, Groups: 1})
	ops := s.stage.Forward
	s.stage.Forward = []ir.Op{ops[0], ops[3], ops[3], ops[1], ops[2]}
	lists, err := Launches(s.stage, s.stage.Forward, ir.Training)
	require.NoError(t, err)
	var addresses []string
	for _, list := range lists[1:4] {
		for _, l := range list {
			if l.Kernel.Call == "weight_gradient_reduce" {
				addresses = append(addresses, strings.Split(l.arguments[1].value, ", at(")[0])
			}
		}
	}
	require.Equal(t, []string{"{{kept(c, lane) + kept_1(n, h, w)", "{{kept(c, lane) + kept_2(n, h, w)", "{{kept(c, lane)"}, addresses)
}

// The reduction may come before the weight gradient: it leaves what the filters
// wait for as it is.
func TestReductionBeforeWeightGradient(t *testing.T) {
	s := gradientsOf(3, 1)
	ops := s.stage.Forward
	ops[1], ops[2] = ops[2], ops[1]
	require.Equal(t, []string{"depthwise_gradients with gradient_sums", "normalize_reduce_finish", "weight_gradient_reduce"}, kernelsOf(t, s.stage, ir.Training))
}

// The gradients have kernels of their own where one could not make both: X is
// made by the same program, perhaps later; another lane; another layer; or a tile
// that does not fit.
func TestDepthwiseGradientsApart(t *testing.T) {
	for name, c := range map[string]struct {
		shelf  *shelf
		change func(s *shelf, ops []ir.Op)
	}{
		"x": {gradientsOf(3, 1), func(s *shelf, ops []ir.Op) {
			s.forward(&ir.Fill{Y: ops[1].Do.(*ir.Conv2dWeightGradient).X})
		}},
		"lane": {gradientsOf(3, 1), func(_ *shelf, ops []ir.Op) { ops[1].Lane = 1 }},
		"layer": {gradientsOf(3, 1), func(s *shelf, ops []ir.Op) {
			ops[1].Do.(*ir.Conv2dWeightGradient).DY = s.fmap(32, 4)
		}},
		"stride": {gradientsOf(3, 2), func(*shelf, []ir.Op) {}},
		"kernel": {gradientsOf(9, 1), func(*shelf, []ir.Op) {}},
	} {
		t.Run(name, func(t *testing.T) {
			c.change(c.shelf, c.shelf.stage.Forward)
			names := strings.Join(kernelsOf(t, c.shelf.stage, ir.Training), " ")
			require.NotContains(t, names, "depthwise_gradients")
			require.Contains(t, names, "depthwise_weight_gradient_partial weight_gradient_reduce")
		})
	}
}

// Tiles fit in the shared memory that a block gets without asking, in FP32 too,
// and leave few threads without channels.
func TestDepthwiseTiles(t *testing.T) {
	for _, c := range []struct{ channels, kernel, lanes int }{{64, 3, 32}, {256, 3, 32}, {32, 3, 16}, {21, 3, 16}, {42, 3, 8}, {85, 3, 16}, {24, 7, 16}, {24, 31, 0}} {
		lanes := lanesOf(c.channels, c.kernel, 2, shortStrip, false)
		require.Equal(t, c.lanes, lanes, "%d channels, kernel %d", c.channels, c.kernel)
	}
	require.Zero(t, lanesOf(64, 9, 2, shortStrip, true))
}
