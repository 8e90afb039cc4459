package host

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

func TestInfo(t *testing.T) {
	d := Open(Options{})
	require.Equal(t, "host", d.Info().Kind)
	require.Regexp(t, `^host, \d+ cores$`, d.Info().Name)
	require.Equal(t, []device.Precision{device.FP32, device.Float64}, d.Info().Precisions)
	require.NoError(t, d.Close())
}

func TestLoadRefuses(t *testing.T) {
	d := Open(Options{})
	for _, precision := range []device.Precision{device.FP16, device.BF16, "int8"} {
		_, err := d.Load(smallStage(), precision)
		require.EqualError(t, err, "host device cannot run stage small in "+string(precision)+"; use fp32 or float64")
	}
	for _, kernel := range []ir.Kernel{&ir.BatchNorm{}, &ir.Concat{}, &ir.Slice{}, &ir.Reshape{}} {
		s := smallStage()
		s.Forward[1].Do, s.Forward[1].Pos = kernel, ir.Pos{Package: "example", File: "net.go", Line: 12}
		_, err := d.Load(s, device.FP32)
		require.EqualError(t, err, "example/net.go:12: operation bn.statistics of stage small has kind "+kernel.Kind()+", which no back end runs; generate the package again")
	}
	s := smallStage()
	s.Storage(s.Tensor(s.Parameters[0].Tensor).Storage).Size = ir.N
	_, err := d.Load(s, device.FP32)
	require.ErrorContains(t, err, "storage weight has size N, which must not depend on the batch")
	s = smallStage()
	s.Tensor(s.Parameters[0].Tensor).Offset = ir.Const(1)
	_, err = d.Load(s, device.FP32)
	require.ErrorContains(t, err, "does not fit its storage of 108 elements")
	require.NoError(t, d.Close(), "a failed load leaves nothing open")
}

// Every kind of operation of the plan format is either run or refused at load.
func TestEveryKindIsKnown(t *testing.T) {
	kinds := map[string]ir.Kernel{}
	for _, k := range []ir.Kernel{
		&ir.Conv2d{}, &ir.BatchStatistics{}, &ir.RunningStatistics{}, &ir.Normalize{}, &ir.Activate{}, &ir.Add{}, &ir.Multiply{}, &ir.Scale{},
		&ir.Copy{}, &ir.Fill{}, &ir.MaxPool{}, &ir.AveragePool{}, &ir.Upsample{}, &ir.MatMul{}, &ir.Softmax{}, &ir.Dropout{},
		&ir.LinearCombination{}, &ir.NormalizeMatrices{},
		&ir.Conv2dInputGradient{}, &ir.Conv2dWeightGradient{}, &ir.ChannelSum{}, &ir.NormalizeReduce{}, &ir.NormalizeGradient{}, &ir.ActivateGradient{},
		&ir.MaxPoolGradient{}, &ir.AveragePoolGradient{}, &ir.UpsampleGradient{}, &ir.SoftmaxGradient{}, &ir.Attention{}, &ir.AttentionGradient{},
		&ir.BatchNorm{}, &ir.Concat{}, &ir.Slice{}, &ir.Reshape{},
	} {
		kinds[k.Kind()] = k
	}
	for _, kind := range ir.Kinds() {
		k, known := kinds[kind]
		require.True(t, known, "kind %s is new: add it here and to dispatch.go", kind)
		b := binder[float32]{plan: &ir.Stage{Name: "test"}, work: &workspace[float32]{workers: 1}}
		_, err := b.launch(&ir.Op{Name: "op", Do: k})
		require.Error(t, err, "%s without operands", kind)
		require.Equal(t, runnable(k), !strings.Contains(err.Error(), "no back end runs"), kind)
	}
}

func TestBindRefuses(t *testing.T) {
	o := open(t, Options{}, smallStage())
	for _, c := range []struct {
		sizes ir.Sizes
		text  string
	}{
		{ir.Sizes{Batch: 0, Height: 2, Width: 2}, "at least 1 is needed"},
		{ir.Sizes{Batch: 1, Height: 3, Width: 2}, "not a positive multiple"},
	} {
		_, err := o.stage.Bind(c.sizes)
		require.ErrorContains(t, err, c.text)
	}
	o.close(t)
}

func TestProgramsRefuse(t *testing.T) {
	o := open(t, Options{}, smallStage())
	require.ErrorContains(t, o.binding.Run(device.BackwardOf(1)), "has 1 backward programs, none is number 1")
	require.ErrorContains(t, o.binding.Run(device.Forward("")), `not ""`)
	o.close(t)
}

// A plan that does not fit together is an error that names the operation.
func TestKernelsRefuseWrongShapes(t *testing.T) {
	p := newPlan()
	x, w, y := p.float("x", last, 1, 3, 4, 4), p.float("w", dense, 2, 3, 3, 3), p.float("y", last, 1, 2, 4, 4)
	n := p.tensor("n", ir.Index, dense, 1, 2, 4, 4)
	for _, c := range []struct {
		kernel ir.Kernel
		text   string
	}{
		{&ir.Conv2d{X: x, Weight: w, Y: x, Kernel: 3, Stride: 1, Groups: 1}, "operand weight has shape [2 3 3 3], not [3 3 3 3]"},
		{&ir.Conv2d{X: x, Weight: w, Y: y, Kernel: 3, Stride: 2, Groups: 1}, "operand y has shape [1 2 4 4], not [1 -1 2 2]"},
		{&ir.Conv2d{X: x, Weight: w, Y: y, Kernel: 2, Stride: 1, Groups: 1}, "kernel 2 must be odd"},
		{&ir.Conv2d{X: x, Weight: w, Y: y, Kernel: 3, Stride: 1}, "groups 0 positive"},
		{&ir.Conv2d{X: x, Y: y, Kernel: 3, Stride: 1, Groups: 1}, "operand weight is missing"},
		{&ir.Add{A: x, B: y, Y: y}, "operand a has shape [1 3 4 4], not [1 2 4 4]"},
		{&ir.Add{A: y, B: y, Y: n}, "operand y is no float tensor"},
		{&ir.Activate{X: y, Y: y, Activation: "gelu"}, `unknown activation "gelu"`},
		{&ir.MatMul{A: x, B: x, Y: y}, "operand a has shape"},
		{&ir.MaxPool{X: y, Y: y, Kernel: 5, Stride: 1, Padding: 3}, "padding 3 is out of range"},
		{&ir.Dropout{X: y, State: n, Mask: y, Y: y, Probability: 0.5}, "operand state is no counter tensor"},
	} {
		q := &plan{p.stage}
		q.stage.Forward = nil
		b := q.op(c.kernel).bind(t, device.FP32)
		err := b.binding.Run(forward)
		require.ErrorContains(t, err, "example/net.go:1: "+c.kernel.Kind()+" "+c.kernel.Kind()+"0 of stage test: ")
		require.ErrorContains(t, err, c.text)
		b.close()
	}
}

// Field case SE-03: a stage that says why it cannot be recorded is not, and
// nothing is left open.
func TestRecordRefusesUnrecordableStages(t *testing.T) {
	s := smallStage()
	s.Unrecordable = "bn averages over all batches"
	o := open(t, Options{}, s)
	_, err := o.binding.Record(forward)
	require.EqualError(t, err, "stage small cannot be recorded: bn averages over all batches")
	require.Zero(t, o.device.Counters().Recordings)
	require.NoError(t, o.binding.Run(forward))
	o.close(t)
}
