package host

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// addTensor gives a tensor a storage of its own: channels-last for maps.
func addTensor(s *ir.Stage, st ir.Storage, shape []ir.Dim) ir.Ref {
	strides := ir.RowMajor(shape)
	if len(shape) == 4 && st.Space != ir.ParameterSpace && st.Space != ir.ParameterGradient {
		strides = ir.ChannelsLast(shape)
	}
	st.Size = ir.Elements(shape)
	return s.AddTensor(ir.Tensor{Name: st.Name, Shape: shape, Elem: st.Elem, Storage: s.AddStorage(st), Strides: strides})
}

// smallStage convolves an image, normalises, and has a backward program: all
// spaces occur, batch and map are symbolic.
func smallStage() *ir.Stage {
	const c = 4
	s := &ir.Stage{Format: ir.FormatVersion, Name: "small", Multiple: ir.Multiple{Height: 2, Width: 2}}
	add := func(name string, space ir.Space, elem ir.Element, place int, shape ...ir.Dim) ir.Ref {
		return addTensor(s, ir.Storage{Name: name, Space: space, Elem: elem, Place: ir.Place{From: place, To: place + 1}}, shape)
	}
	k := ir.Const
	weight := func(space ir.Space) ir.Ref { return add("weight", space, ir.Master, 0, k(c), k(3), k(3), k(3)) }
	vector := func(name string, space ir.Space, place int) ir.Ref { return add(name, space, ir.Master, place, k(c)) }
	activation := func(name string, space ir.Space, place int) ir.Ref {
		return add(name, space, ir.Activation, place, ir.N, k(c), ir.H, ir.W)
	}
	x := add("image", ir.Input, ir.Activation, 0, ir.N, k(3), ir.H, ir.W)
	dX := add("image gradient", ir.InputGradient, ir.Activation, 0, ir.N, k(3), ir.H, ir.W)
	w, dW := weight(ir.ParameterSpace), weight(ir.ParameterGradient)
	scale, dScale := vector("scale", ir.ParameterSpace, 0), vector("scale", ir.ParameterGradient, 0)
	shift, dShift := vector("shift", ir.ParameterSpace, 0), vector("shift", ir.ParameterGradient, 0)
	runningMean, runningVar := vector("running_mean", ir.BufferSpace, 0), vector("running_var", ir.BufferSpace, 0)
	batches := add("batches", ir.BufferSpace, ir.Counter, 0)
	mean, rstd := vector("mean", ir.Arena, 3), vector("rstd", ir.Arena, 4)
	z, dZ := activation("z", ir.Arena, 1), activation("dZ", ir.Arena, 7)
	y, dY := activation("features", ir.Output, 0), activation("features cotangent", ir.Cotangent, 0)

	s.Inputs = []ir.Port{{Name: "image", Tensor: x, Gradient: dX, Differentiable: true}}
	s.Outputs = []ir.Port{{Name: "features", Tensor: y, Gradient: dY}}
	s.Parameters = []ir.Parameter{
		{Name: "conv.weight", Shape: []int{c, 3, 3, 3}, Tensor: w, Gradient: dW},
		{Name: "bn.weight", Shape: []int{c}, Tensor: scale, Gradient: dScale},
		{Name: "bn.bias", Shape: []int{c}, Tensor: shift, Gradient: dShift},
	}
	s.Buffers = []ir.Buffer{
		{Name: "bn.running_mean", Shape: []int{c}, Elem: ir.Master, Tensor: runningMean},
		{Name: "bn.running_var", Shape: []int{c}, Elem: ir.Master, Tensor: runningVar, Value: 1},
		{Name: "bn.num_batches_tracked", Elem: ir.Counter, Tensor: batches},
	}
	s.Forward = []ir.Op{
		{Name: "conv", Do: &ir.Conv2d{X: x, Weight: w, Y: z, Kernel: 3, Stride: 1, Groups: 1}},
		{Name: "bn.statistics", Mode: ir.Training, Do: &ir.BatchStatistics{X: z, Mean: mean, Rstd: rstd, RunningMean: runningMean, RunningVar: runningVar, Batches: batches, Epsilon: 1e-5, Momentum: 0.1}},
		{Name: "bn.running", Mode: ir.Eval, Do: &ir.RunningStatistics{RunningMean: runningMean, RunningVar: runningVar, Mean: mean, Rstd: rstd, Epsilon: 1e-5}},
		{Name: "bn", Do: &ir.Normalize{X: z, Mean: mean, Rstd: rstd, Scale: scale, Shift: shift, Y: y, Activation: ir.SiLU}},
	}
	s.Backward = []ir.Backward{{Present: []string{"features"}, Parameters: []string{"conv.weight", "bn.weight", "bn.bias"}, Inputs: []string{"image"}, Ops: []ir.Op{
		{Name: "bn.reduce", Do: &ir.NormalizeReduce{DY: dY, X: z, Mean: mean, Rstd: rstd, Scale: scale, Shift: shift, DScale: dScale, DShift: dShift, Activation: ir.SiLU}},
		{Name: "bn.gradient", Do: &ir.NormalizeGradient{DY: dY, X: z, Mean: mean, Rstd: rstd, Scale: scale, Shift: shift, DScale: dScale, DShift: dShift, DX: dZ, Activation: ir.SiLU}},
		{Name: "conv.weight", Do: &ir.Conv2dWeightGradient{X: x, DY: dZ, DWeight: dW, Kernel: 3, Stride: 1, Groups: 1}},
		{Name: "conv.input", Do: &ir.Conv2dInputGradient{DY: dZ, Weight: w, DX: dX, Kernel: 3, Stride: 1, Groups: 1}},
	}}}
	return s
}

// opened is smallStage on a device with random parameters.
type opened struct {
	device  device.Device
	stage   device.Stage
	binding device.Binding
}

func open(t testing.TB, options Options, plan *ir.Stage) opened {
	t.Helper()
	d := Open(options)
	s, err := d.Load(plan, device.FP32)
	require.NoError(t, err)
	for i := range plan.Parameters {
		writeRandom(t, s.Parameter(i), uint64(i))
	}
	b, err := s.Bind(ir.Sizes{Batch: 2, Height: 6, Width: 4})
	require.NoError(t, err)
	writeRandom(t, b.Input(0), 11)
	writeRandom(t, b.Cotangent(0), 12)
	return opened{d, s, b}
}

func writeRandom(t testing.TB, x device.Tensor, seed uint64) {
	require.NoError(t, x.WriteFloat64(random(seed, device.Elements(x.Shape()))))
}

func (o opened) close(t testing.TB) {
	require.NoError(t, o.binding.Close())
	require.NoError(t, o.stage.Close())
	require.NoError(t, o.device.Close())
}

// state reads everything that a step changes.
func (o opened) state(t testing.TB) [][]float64 {
	tensors := []device.Tensor{o.binding.Output(0), o.binding.InputGradient(0)}
	plan := o.stage.Plan()
	for i := range plan.Parameters {
		tensors = append(tensors, o.stage.Gradient(i))
	}
	for i := range plan.Buffers {
		tensors = append(tensors, o.stage.Buffer(i))
	}
	var out [][]float64
	for _, x := range tensors {
		values := make([]float64, device.Elements(x.Shape()))
		require.NoError(t, x.ReadFloat64(values))
		out = append(out, values)
	}
	return out
}

func (o opened) record(t testing.TB) []device.Recording {
	var out []device.Recording
	for _, p := range []device.Program{forward, device.BackwardOf(0)} {
		r, err := o.binding.Record(p)
		require.NoError(t, err)
		out = append(out, r)
	}
	return out
}

func TestReplayEqualsNativeOverSteps(t *testing.T) {
	native, replayed := open(t, Options{}, smallStage()), open(t, Options{}, smallStage())
	before := replayed.state(t)
	recordings := replayed.record(t)
	require.Equal(t, bits(before), bits(replayed.state(t)), "recording executes nothing")
	for step := range 4 {
		for _, o := range []opened{native, replayed} {
			writeRandom(t, o.binding.Input(0), uint64(100+step))
		}
		require.NoError(t, native.binding.Run(forward))
		require.NoError(t, native.binding.Run(device.BackwardOf(0)))
		for _, r := range recordings {
			require.NoError(t, r.Replay())
		}
		require.Equal(t, native.state(t), replayed.state(t))
		require.False(t, math.IsNaN(native.state(t)[0][0]))
	}
	require.Equal(t, device.Counters{KernelLaunches: 4 * 7, Bytes: native.device.Counters().Bytes, PeakBytes: native.device.Counters().PeakBytes}, native.device.Counters())
	counters := replayed.device.Counters()
	require.Equal(t, int64(0), counters.KernelLaunches)
	require.Equal(t, int64(8), counters.GraphLaunches)
	require.Equal(t, int64(2), counters.Recordings)
	require.Equal(t, 3, recordings[0].Nodes())
	require.Equal(t, 4, recordings[1].Nodes())
	for _, r := range recordings {
		require.NoError(t, r.Close())
	}
	native.close(t)
	replayed.close(t)
	require.Equal(t, int64(0), replayed.device.Counters().Bytes)
	require.Equal(t, int64(0), replayed.device.Counters().Recordings)
	require.Positive(t, replayed.device.Counters().PeakBytes)
}

func bits(values [][]float64) [][]uint64 {
	out := make([][]uint64, len(values))
	for i, list := range values {
		for _, v := range list {
			out[i] = append(out[i], math.Float64bits(v))
		}
	}
	return out
}

func TestReplayAllocatesNothing(t *testing.T) {
	o := open(t, Options{}, smallStage())
	bytes := o.device.Counters().Bytes
	recordings := o.record(t)
	require.Zero(t, testing.AllocsPerRun(20, func() {
		for _, r := range recordings {
			require.NoError(t, r.Replay())
		}
	}))
	require.Equal(t, bytes, o.device.Counters().Bytes)
	for _, r := range recordings {
		require.NoError(t, r.Close())
	}
	o.close(t)
}

func TestEvaluationUsesRunningStatistics(t *testing.T) {
	o := open(t, Options{}, smallStage())
	require.NoError(t, o.stage.Buffer(1).WriteFloat64([]float64{1, 1, 1, 1}))
	require.NoError(t, o.binding.Run(device.Forward(ir.Eval)))
	counter := make([]int64, 1)
	require.NoError(t, o.stage.Buffer(2).ReadInt64(counter))
	require.Equal(t, []int64{0}, counter)
	require.Equal(t, int64(3), o.device.Counters().KernelLaunches)
	o.close(t)
}

func TestCloseOrder(t *testing.T) {
	o := open(t, Options{}, smallStage())
	r, err := o.binding.Record(forward)
	require.NoError(t, err)
	require.ErrorContains(t, o.device.Close(), "1 open stages")
	require.ErrorContains(t, o.stage.Close(), "1 open bindings")
	require.ErrorContains(t, o.binding.Close(), "1 open recordings")
	require.NoError(t, r.Close())
	require.ErrorContains(t, r.Close(), "already closed")
	require.ErrorContains(t, r.Replay(), "closed")
	require.NoError(t, o.binding.Close())
	require.ErrorContains(t, o.binding.Close(), "already closed")
	require.ErrorContains(t, o.binding.Run(forward), "closed")
	require.NoError(t, o.stage.Close())
	require.ErrorContains(t, o.stage.Close(), "already closed")
	_, err = o.stage.Bind(ir.Sizes{Batch: 1, Height: 2, Width: 2})
	require.ErrorContains(t, err, "closed")
	require.NoError(t, o.device.Close())
	require.ErrorContains(t, o.device.Close(), "already closed")
	_, err = o.device.Load(smallStage(), device.FP32)
	require.ErrorContains(t, err, "closed")
}

func TestFaultInjection(t *testing.T) {
	broken := errors.New("broken")
	var wanted string
	calls := map[string]int{}
	fail := func(event string, n int) error {
		calls[event] = n
		if event == wanted {
			return broken
		}
		return nil
	}
	o := open(t, Options{Fail: fail}, smallStage())
	r, err := o.binding.Record(forward)
	require.NoError(t, err)
	require.NoError(t, r.Replay())
	require.NoError(t, o.binding.Run(forward))
	require.Equal(t, map[string]int{"record": 1, "replay": 1, "launch": 3}, calls)
	for event, call := range map[string]func() error{
		"launch": func() error { return o.binding.Run(forward) },
		"replay": r.Replay,
		"record": func() error { _, err := o.binding.Record(forward); return err },
	} {
		before := o.device.Counters()
		wanted = event
		require.ErrorIs(t, call(), broken)
		require.Equal(t, before, o.device.Counters(), "a failed %s does not count", event)
	}
	require.NoError(t, r.Close())
	o.close(t)
}

// An observer sees what each launch wrote, in launch order, and may stop the run.
func TestRunObserved(t *testing.T) {
	o := open(t, Options{}, smallStage())
	observable, ok := o.binding.(device.Observable)
	require.True(t, ok)
	var names []string
	stop := errors.New("stop")
	see := func(last string) func(op *ir.Op, tensor func(ir.Ref) device.Tensor) error {
		return func(op *ir.Op, tensor func(ir.Ref) device.Tensor) error {
			names = append(names, op.Name)
			for _, ref := range op.Writes() {
				x := tensor(ref)
				values := make([]float64, device.Elements(x.Shape()))
				require.NoError(t, x.ReadFloat64(values))
				require.False(t, math.IsNaN(values[0]), "%s of %s", x.Name(), op.Name)
			}
			require.Nil(t, tensor(0))
			if op.Name == last {
				return stop
			}
			return nil
		}
	}
	require.NoError(t, observable.RunObserved(forward, see("")))
	require.Equal(t, []string{"conv", "bn.statistics", "bn"}, names)
	observed := o.state(t)
	require.ErrorIs(t, observable.RunObserved(forward, see("conv")), stop)
	require.Equal(t, int64(4), o.device.Counters().KernelLaunches)
	o.close(t)
	plain := open(t, Options{}, smallStage())
	require.NoError(t, plain.binding.Run(forward))
	require.Equal(t, bits(plain.state(t))[:1], bits(observed)[:1])
	plain.close(t)
}
