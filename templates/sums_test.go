package templates

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// kernelsOf names the kernels of the operations of a stage, up to their shape.
func kernelsOf(t *testing.T, s *ir.Stage, mode ir.Mode) []string {
	t.Helper()
	lists, err := Launches(s, s.Forward, mode)
	require.NoError(t, err)
	var names []string
	for _, list := range lists {
		for _, l := range list {
			template, _, _ := strings.Cut(l.Kernel.Call, "<")
			for _, sums := range []string{"statistics_sums", "gradient_sums"} {
				if strings.Contains(l.Kernel.Call, sums) {
					template += " with " + sums
				}
			}
			names = append(names, template)
		}
	}
	return names
}

// normalized is a convolution of 16 channels and the statistics of its result.
func normalized() (*shelf, ir.Ref) {
	s := newShelf("sums")
	y := s.fmap(16, 4)
	s.forward(&ir.Conv2d{X: s.fmap(16, 4), Weight: s.master(16, 16, 1, 1), Y: y, Kernel: 1, Stride: 1, Groups: 1})
	s.forward(&ir.BatchStatistics{X: y, Mean: s.master(16), Rstd: s.master(16), RunningMean: s.master(16), RunningVar: s.master(16), Batches: s.counter(1)})
	s.stage.Forward[1].Mode = ir.Training
	return s, y
}

// In training the convolution takes the sums; in evaluation, where nobody wants
// them, it does not.
func TestConvolutionTakesSums(t *testing.T) {
	s, _ := normalized()
	require.Equal(t, []string{"convolution_pointwise with statistics_sums", "batch_statistics_finish"}, kernelsOf(t, s.stage, ir.Training))
	require.Equal(t, []string{"convolution_pointwise"}, kernelsOf(t, s.stage, ir.Eval))
}

// The input gradient takes the two sums of the batch norm below.
func TestGradientTakesSums(t *testing.T) {
	s := newShelf("sums")
	dx := s.fmap(16, 4)
	s.forward(&ir.Conv2dInputGradient{DY: s.fmap(16, 4), Weight: s.master(16, 16, 1, 1), DX: dx, Kernel: 1, Stride: 1, Groups: 1})
	s.forward(&ir.NormalizeReduce{DY: dx, X: s.fmap(16, 4), Mean: s.master(16), Rstd: s.master(16), Scale: s.master(16), Shift: s.master(16), DScale: s.master(16), DShift: s.master(16), Activation: ir.SiLU})
	require.Equal(t, []string{"convolution_pointwise with gradient_sums", "normalize_reduce_finish"}, kernelsOf(t, s.stage, ir.Training))
}

// The reduction has its own first pass when the partial results could not reach
// it: another lane, other use of the scratch memory, or a later change of the map.
func TestSumsThatCannotBeTaken(t *testing.T) {
	apart := []string{"convolution_pointwise", "batch_statistics_partial", "batch_statistics_finish"}
	s, _ := normalized()
	s.stage.Forward[1].Lane = 1
	require.Equal(t, apart, kernelsOf(t, s.stage, ir.Training))

	for name, between := range map[string]func(s *shelf, y ir.Ref) ir.Kernel{
		"scratch": func(s *shelf, _ ir.Ref) ir.Kernel {
			return &ir.NormalizeReduce{DY: s.fmap(16, 4), X: s.fmap(16, 4), Mean: s.master(16), Rstd: s.master(16), Scale: s.master(16), Shift: s.master(16), DScale: s.master(16), DShift: s.master(16), Activation: ir.SiLU}
		},
		"scratch of attention": func(s *shelf, _ ir.Ref) ir.Kernel {
			rows := func() ir.Ref { return s.rows(ir.N, ir.Const(9), ir.Const(8)) }
			return &ir.AttentionGradient{Q: rows(), K: rows(), V: rows(), Y: rows(), LogSum: s.tensor(ir.Master, ir.RowMajor, false, ir.N, ir.Const(9)), DY: rows(), DV: rows(), Alpha: 1}
		},
		"change": func(s *shelf, y ir.Ref) ir.Kernel { return &ir.Copy{X: s.fmap(16, 4), Y: y, Accumulate: true} },
	} {
		t.Run(name, func(t *testing.T) {
			s, y := normalized()
			s.forward(between(s, y))
			ops := s.stage.Forward
			s.stage.Forward = []ir.Op{ops[0], ops[2], ops[1]}
			require.Contains(t, kernelsOf(t, s.stage, ir.Training), "batch_statistics_partial")
		})
	}
}

// Partial results fit what the finishing kernels take, at every size. An input
// gradient leaves one for each parity class of its stride, unless its blocks make
// all classes.
func TestPartialResultsFit(t *testing.T) {
	shape := regexp.MustCompile(`convolution_shape<\d+, \d+, \d+, (\d+),`)
	checked := 0
	for _, z := range []ir.Sizes{{Batch: 1, Height: 32, Width: 32}, {Batch: 16, Height: 1024, Width: 1024}} {
		for _, l := range mustLaunches(t, everyKind()) {
			call := l.Kernel.Call
			takes := strings.Contains(call, "statistics_sums") || strings.Contains(call, "gradient_sums")
			if !takes && !strings.Contains(call, "statistics_partial") && !strings.Contains(call, "reduce_partial") {
				continue
			}
			rows, err := l.Grid[0].Eval(z)
			require.NoError(t, err)
			if m := shape.FindStringSubmatch(call); m != nil && strings.Contains(call, "gradient_sums") && !strings.HasPrefix(call, "convolution_strided_gradient<") {
				stride, err := strconv.ParseInt(m[1], 10, 64)
				require.NoError(t, err)
				rows *= stride * stride
			}
			require.LessOrEqual(t, rows, int64(mostRows), "%s at %s", l.Kernel.Name, z)
			checked++
		}
	}
	require.Greater(t, checked, 50)
}
