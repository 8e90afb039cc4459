package templates

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// lanesStage has a branch on a second lane that comes back to the first.
func lanesStage() *ir.Stage {
	s := newShelf("lanes")
	x, left, right, y := s.fmap(16, 4), s.fmap(16, 4), s.fmap(16, 4), s.fmap(16, 4)
	weight := s.master(16, 16, 3, 3)
	s.forward(&ir.Conv2d{X: x, Weight: weight, Y: left, Kernel: 3, Stride: 1, Groups: 1})
	s.forward(&ir.Activate{X: x, Y: right, Activation: ir.SiLU})
	s.forward(&ir.Add{A: left, B: right, Y: y})
	s.stage.Forward[1].Lane = 1
	s.stage.Forward[2].Wait = []int{1}
	return s.stage
}

// stepsOf is the step table of a program in the printed wrapper.
func stepsOf(t *testing.T, source []byte, program string) []string {
	t.Helper()
	_, rest, found := strings.Cut(string(source), "steps_"+program+"[] = {\n")
	require.True(t, found)
	body, _, _ := strings.Cut(rest, "};")
	var steps []string
	for _, line := range strings.Split(strings.TrimSpace(body), "\n") {
		steps = append(steps, strings.Trim(strings.TrimSpace(line), "{},"))
	}
	return steps
}

// Field case CT-09: every lane that a program uses starts after the first lane
// and is joined to it at the end, and waits become events.
func TestLanesJoin(t *testing.T) {
	source, _, err := Wrapper(lanesStage(), "example")
	require.NoError(t, err)
	require.Equal(t, []string{
		"reprise_launch, 0, -1, pack_0", "reprise_fork, 2, 0, NULL",
		"reprise_launch, 0, 0, forward_0", "reprise_launch, 1, 1, forward_1", "reprise_signal, 1, 0, NULL",
		"reprise_wait, 0, 0, NULL", "reprise_launch, 0, 2, forward_2", "reprise_join, 2, 0, NULL",
	}, stepsOf(t, source, "forward_training"))
}

// A wait for a launch that a mode leaves out is left out too: inside a capture
// it would be a wait for something outside.
func TestWaitForAbsentLaunch(t *testing.T) {
	stage := lanesStage()
	stage.Forward[1].Mode = ir.Training
	source, _, err := Wrapper(stage, "example")
	require.NoError(t, err)
	require.Equal(t, []string{
		"reprise_launch, 0, -1, pack_0", "reprise_launch, 0, 0, forward_0", "reprise_launch, 0, 2, forward_2",
	}, stepsOf(t, source, "forward_evaluation"))
}

// Field cases CT-08 and CT-12: one place issues launches, it names a stream of
// the context, and nothing asks for the default stream or a host node.
func TestStreamsAndNodes(t *testing.T) {
	source, _, err := Wrapper(everyKind(), "example")
	require.NoError(t, err)
	text := string(source)
	require.Equal(t, 1, strings.Count(text, "cuLaunchKernelEx("))
	require.True(t, strings.Contains(text, ".hStream = c->lane[lane],"), "launches go to the stream of their lane")
	require.NotRegexp(t, `cuLaunchHostFunc|cuStreamAddCallback|cuMemAlloc|cuMemcpy|CU_STREAM_LEGACY|CU_STREAM_DEFAULT`, text)
}

// Equal constants share one kernel, whatever the layer; names are one to one.
func TestKernelsAreShared(t *testing.T) {
	s := newShelf("shared")
	for range 3 {
		s.forward(&ir.Activate{X: s.fmap(16, 4), Y: s.fmap(16, 4), Activation: ir.SiLU, Slope: 0.1})
	}
	s.forward(&ir.Activate{X: s.fmap(16, 4), Y: s.fmap(16, 4), Activation: ir.LeakyReLU, Slope: 0.1})
	p, err := plan(s.stage, "example")
	require.NoError(t, err)
	activations := 0
	for _, k := range p.Kernels {
		if strings.Contains(k.Call, "activate_operation") {
			activations++
		}
	}
	require.Equal(t, 2, activations)

	p, err = plan(everyKind(), "example")
	require.NoError(t, err)
	calls := map[string]string{}
	for _, l := range mustLaunches(t, everyKind()) {
		if known, found := calls[l.Kernel.Name]; found {
			require.Equal(t, known, l.Kernel.Call)
		}
		calls[l.Kernel.Name] = l.Kernel.Call
	}
	require.LessOrEqual(t, len(calls), len(p.Kernels))
}

func mustLaunches(t *testing.T, stage *ir.Stage) []Launch {
	t.Helper()
	lists, err := Launches(stage, stage.Forward, ir.Training)
	require.NoError(t, err)
	var all []Launch
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// Every kind of kernel that a finished plan may hold has launches; the kinds of
// definitions alone are refused.
func TestEveryKind(t *testing.T) {
	seen := map[string]bool{"batch_norm": true, "slice": true, "reshape": true, "concat": true}
	for _, op := range everyKind().Forward {
		seen[op.Do.Kind()] = true
	}
	for _, kind := range ir.Kinds() {
		require.True(t, seen[kind], "kind %s is not in the plan of the tests", kind)
	}
	s := newShelf("refused")
	s.forward(&ir.Concat{Xs: []ir.Ref{s.fmap(8, 4)}, Y: s.fmap(8, 4), Axis: 1})
	_, err := Kernels(s.stage, "example")
	require.EqualError(t, err, "example/net.go:1: concat concat: no kernel for this kind; it belongs to definitions, run the passes first")
}

// Grids and scratch memory are positive and fit the device at odd sizes.
func TestLaunchExpressions(t *testing.T) {
	stage := everyKind()
	for _, z := range []ir.Sizes{{Batch: 1, Height: 32, Width: 32}, {Batch: 3, Height: 96, Width: 160}, {Batch: 16, Height: 1024, Width: 1024}} {
		for _, l := range mustLaunches(t, stage) {
			for axis, e := range l.Grid {
				v, err := e.Eval(z)
				require.NoError(t, err)
				require.Positive(t, v, "%s at %s", l.Kernel.Name, z)
				require.LessOrEqual(t, v, []int64{1<<31 - 1, 65535, 65535}[axis], "%s at %s", l.Kernel.Name, z)
			}
		}
	}
}

// Field case CG-16: the index width follows from the last index.
func TestIndexBits(t *testing.T) {
	s := newShelf("wide")
	s.forward(&ir.Activate{X: s.fmap(128, 1), Y: s.fmap(128, 1), Activation: ir.ReLU})
	for batch, want := range map[int]int{64: 32, 65: 64} {
		bits, err := IndexBits(s.stage, ir.Sizes{Batch: batch, Height: 512, Width: 512})
		require.NoError(t, err)
		require.Equal(t, want, bits, "batch %d", batch)
	}
	cu, err := Kernels(s.stage, "example")
	require.NoError(t, err)
	require.Contains(t, string(cu), "#if defined(REPRISE_WIDE)\nusing index_t = uint64_t;")
	source, _, err := Wrapper(s.stage, "example")
	require.NoError(t, err)
	require.Contains(t, string(source), "elements = larger(elements, 128 * n * h * w);\n  return elements - 1 > 2147483647;")
}

// Same plan, same bytes; LF line ends and no path.
func TestOutputIsDeterministic(t *testing.T) {
	print := func() []byte {
		cu, err := Kernels(everyKind(), "example")
		require.NoError(t, err)
		source, header, err := Wrapper(everyKind(), "example")
		require.NoError(t, err)
		return bytes.Join([][]byte{cu, source, header}, nil)
	}
	first := print()
	for range 3 {
		require.Equal(t, first, print())
	}
	require.NotContains(t, string(first), "\r")
	require.NotContains(t, string(first), "/home/")
}

// Bad plans get one error that names the operation.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		build func(s *shelf)
		want  string
	}{
		"even kernel": {func(s *shelf) {
			s.forward(&ir.Conv2d{X: s.fmap(16, 4), Weight: s.master(16, 16, 4, 4), Y: s.fmap(16, 4), Kernel: 4, Stride: 1, Groups: 1})
		}, "example/net.go:1: conv2d conv2d: kernel 4, stride 1 and 1 groups do not go with 16 to 16 channels"},
		"activation": {func(s *shelf) {
			s.forward(&ir.Activate{X: s.fmap(16, 4), Y: s.fmap(16, 4), Activation: "gelu"})
		}, `example/net.go:1: activate activate: unknown activation "gelu"`},
		"no place": {func(s *shelf) {
			s.forward(&ir.Copy{X: s.stage.AddTensor(ir.Tensor{Name: "x"}), Y: s.fmap(16, 4)})
		}, "example/net.go:1: copy copy: operand x has no place in memory; run the passes first"},
		"probability": {func(s *shelf) {
			s.forward(&ir.Dropout{X: s.fmap(16, 4), Y: s.fmap(16, 4), Mask: s.fmap(16, 4), State: s.counter(2), Probability: 1})
		}, "example/net.go:1: dropout dropout: probability 1 is not in [0, 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf("refused")
			c.build(s)
			_, err := Kernels(s.stage, "example")
			require.EqualError(t, err, c.want)
		})
	}
}
