package templates

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// gradients is a stage with n weight gradients of 1x1 layers on maps whose sides
// are divided by down, each into a parameter's gradient of its own.
func gradients(n, channels, down int) *shelf {
	s := newShelf("gradients")
	for range n {
		dw := s.master(channels, channels, 1, 1)
		s.stage.StorageOf(dw).Space = ir.ParameterGradient
		s.forward(&ir.Conv2dWeightGradient{X: s.fmap(channels, down), DY: s.fmap(channels, down), DWeight: dw, Kernel: 1, Stride: 1, Groups: 1})
	}
	return s
}

// reducing lists the operations that launch second passes, as "operation: layers".
func reducing(t *testing.T, s *ir.Stage) []string {
	t.Helper()
	lists, err := Launches(s, s.Forward, ir.Training)
	require.NoError(t, err)
	var out []string
	for i, list := range lists {
		for _, l := range list {
			if l.Kernel.Call == "weight_gradient_reduce" {
				out = append(out, fmt.Sprintf("%d: %s", i, l.arguments[0].value))
			}
		}
	}
	return out
}

// The second passes of a lane are one launch, of its last weight gradient, and
// none waits for another lane.
func TestSecondPassesShareALaunch(t *testing.T) {
	s := gradients(6, 16, 4)
	require.Equal(t, []string{"5: 6"}, reducing(t, s.stage))
	for _, i := range []int{1, 4} {
		s.stage.Forward[i].Lane = 1
	}
	require.Equal(t, []string{"4: 2", "5: 4"}, reducing(t, s.stage))
}

// The gradient of a bias is one more second pass.
func TestBiasesShareTheLaunch(t *testing.T) {
	s := gradients(3, 16, 4)
	bias := s.master(16)
	s.stage.StorageOf(bias).Space = ir.ParameterGradient
	s.forward(&ir.ChannelSum{DY: s.fmap(16, 4), DBias: bias})
	require.Equal(t, []string{"3: 4"}, reducing(t, s.stage))
	require.Equal(t, []string{"weight_gradient_flat", "weight_gradient_flat", "weight_gradient_flat", "channel_sum_partial", "weight_gradient_reduce"}, kernelsOf(t, s.stage, ir.Training))
}

// A gradient that another operation uses, or whose memory is used again, is
// complete at once, and with it what waited on its lane.
func TestResultsThatCannotWait(t *testing.T) {
	for name, change := range map[string]func(s *shelf, dw ir.Ref){
		"used":  func(s *shelf, dw ir.Ref) { s.forward(&ir.Scale{X: dw, Y: s.master(16, 16, 1, 1), Factor: 2}) },
		"arena": func(s *shelf, dw ir.Ref) { s.stage.StorageOf(dw).Space = ir.Arena },
		"accumulated": func(s *shelf, dw ir.Ref) {
			again := *s.stage.Forward[3].Do.(*ir.Conv2dWeightGradient)
			again.DWeight, again.Accumulate = dw, true
			s.stage.Forward[3].Do = &again
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := gradients(4, 16, 4)
			change(s, s.stage.Forward[1].Do.(*ir.Conv2dWeightGradient).DWeight)
			require.Equal(t, []string{"1: 2", "3: 2"}, reducing(t, s.stage))
		})
	}
}

// A batch ends when the table of the launch is full, and when its partial sums
// would leave the cache.
func TestBatchesEnd(t *testing.T) {
	require.Equal(t, []string{"63: 64", "65: 2"}, reducing(t, gradients(66, 16, 32).stage))
	// 256 x 256 weights and up to 64 partial sums of each: 16 MiB a layer.
	require.Equal(t, []string{"0: 1", "1: 1", "2: 1"}, reducing(t, gradients(3, 256, 4).stage))
}

// The partial sums of a batch lie one after the other: each amount of memory adds
// to that before it, and the lane has room for the largest.
func TestPartialSumsLieApart(t *testing.T) {
	source, _, err := Wrapper(gradients(3, 16, 4).stage, "example")
	require.NoError(t, err)
	bytes := "aligned(smaller(smaller(ceiling(n * h * w / 16, 256), 528), 16384) * 1024)"
	wanted := []string{"return " + bytes, "return kept_1(n, h, w) + " + bytes, "return kept_2(n, h, w) + " + bytes, "bytes = larger(bytes, kept_3(n, h, w));"}
	for _, address := range []string{"kept(c, lane)", "kept(c, lane) + kept_1(n, h, w)", "kept(c, lane) + kept_2(n, h, w)"} {
		wanted = append(wanted, ".partial = "+address+",", "{"+address+", at(c, ")
	}
	for _, w := range wanted {
		require.True(t, strings.Contains(string(source), w), w)
	}
}

// Operations that are in several programs share the functions that issue them,
// kept memory included, and programs with equal steps share their table.
func TestProgramsShareSecondPasses(t *testing.T) {
	s := gradients(3, 16, 4)
	ops := s.stage.Forward
	s.stage.Forward = nil
	s.stage.Backward = []ir.Backward{{Present: []string{"a"}, Ops: ops}, {Present: []string{"b"}, Ops: slices.Clone(ops)}}
	source, _, err := Wrapper(s.stage, "example")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), "launch(c, k_weight_gradient_reduce,"))
	require.Equal(t, 1, strings.Count(string(source), "static const struct reprise_step steps_"))
	require.Equal(t, 2, strings.Count(string(source), "{steps_backward_0, "), "programs refer to it")
	s.stage.Backward[1].Ops = s.stage.Backward[1].Ops[1:]
	source, _, err = Wrapper(s.stage, "example")
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(source), "static const struct reprise_step steps_"))
}
