package replay

import (
	"errors"
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// fakeDevice runs the plan of pairPlan and can fail wherever a test wants. It
// serves what a real back end cannot be made to do: devices that replay a
// subset of their precisions, recordings without launches, replays that stop
// half-way, objects that cannot be closed.
type fakeDevice struct {
	info     device.Info
	counters device.Counters

	failLoad   error
	failRecord func(n int) error // n counts from 1
	failReplay func(n int) error
	failRun    func(n int) error
	failClose  error // of recordings
	noNodes    bool  // recordings are empty
	blind      bool  // bindings cannot show tensors inside
	closed     []string

	records, replays, runs int
}

func newFake() *fakeDevice {
	return &fakeDevice{info: device.Info{Name: "fake", Kind: "fake", Precisions: []device.Precision{device.FP32}}}
}

func (d *fakeDevice) Info() device.Info         { return d.info }
func (d *fakeDevice) Counters() device.Counters { return d.counters }
func (d *fakeDevice) Close() error              { return nil }

func (d *fakeDevice) Load(plan *ir.Stage, _ device.Precision) (device.Stage, error) {
	if d.failLoad != nil {
		return nil, d.failLoad
	}
	s := &fakeStage{dev: d, plan: plan, tensors: map[ir.Ref]*fakeTensor{}}
	for _, p := range plan.Parameters {
		s.tensors[p.Tensor] = newFakeTensor(p.Name, p.Shape, device.TypeFloat32, 0)
		if p.Gradient != 0 {
			s.tensors[p.Gradient] = newFakeTensor(p.Name, p.Shape, device.TypeFloat32, 0)
		}
	}
	for _, b := range plan.Buffers {
		s.tensors[b.Tensor] = newFakeTensor(b.Name, b.Shape, device.TypeInt64, 0)
	}
	d.counters.Bytes += 100
	return s, nil
}

type fakeStage struct {
	dev     *fakeDevice
	plan    *ir.Stage
	tensors map[ir.Ref]*fakeTensor
}

func (s *fakeStage) Plan() *ir.Stage               { return s.plan }
func (s *fakeStage) Parameter(i int) device.Tensor { return s.tensors[s.plan.Parameters[i].Tensor] }
func (s *fakeStage) Buffer(i int) device.Tensor    { return s.tensors[s.plan.Buffers[i].Tensor] }

func (s *fakeStage) Gradient(i int) device.Tensor {
	if t := s.tensors[s.plan.Parameters[i].Gradient]; t != nil {
		return t
	}
	return nil
}

func (s *fakeStage) Close() error {
	s.dev.counters.Bytes -= 100
	s.dev.closed = append(s.dev.closed, "stage")
	return nil
}

func (s *fakeStage) Bind(sizes ir.Sizes) (device.Binding, error) {
	b := &fakeBinding{stage: s, sizes: sizes, tensors: map[ir.Ref]*fakeTensor{}}
	for i, t := range s.plan.Tensors {
		ref := ir.Ref(i + 1)
		if owned := s.tensors[ref]; owned != nil {
			b.tensors[ref] = owned
			continue
		}
		shape := make([]int, len(t.Shape))
		for j, d := range t.Shape {
			var err error
			if shape[j], err = d.Eval(sizes); err != nil {
				return nil, err
			}
		}
		b.tensors[ref] = newFakeTensor(t.Name, shape, device.TypeFloat32, math.NaN())
	}
	s.dev.counters.Bytes += 10
	if s.dev.blind {
		return struct{ device.Binding }{b}, nil
	}
	return b, nil
}

type fakeBinding struct {
	stage   *fakeStage
	sizes   ir.Sizes
	tensors map[ir.Ref]*fakeTensor
}

func (b *fakeBinding) Sizes() ir.Sizes { return b.sizes }
func (b *fakeBinding) Input(i int) device.Tensor {
	return b.tensors[b.stage.plan.Inputs[i].Tensor]
}
func (b *fakeBinding) Output(i int) device.Tensor {
	return b.tensors[b.stage.plan.Outputs[i].Tensor]
}
func (b *fakeBinding) Cotangent(i int) device.Tensor {
	return b.tensors[b.stage.plan.Outputs[i].Gradient]
}
func (b *fakeBinding) InputGradient(i int) device.Tensor {
	return b.tensors[b.stage.plan.Inputs[i].Gradient]
}

func (b *fakeBinding) Run(p device.Program) error {
	return b.RunObserved(p, func(*ir.Op, func(ir.Ref) device.Tensor) error { return nil })
}

func (b *fakeBinding) RunObserved(p device.Program, after func(*ir.Op, func(ir.Ref) device.Tensor) error) error {
	d := b.stage.dev
	d.runs++
	if d.failRun != nil {
		if err := d.failRun(d.runs); err != nil {
			return err
		}
	}
	for _, op := range p.Ops(b.stage.plan) {
		d.counters.KernelLaunches++
		b.execute(&op)
		if err := after(&op, func(r ir.Ref) device.Tensor { return b.tensors[r] }); err != nil {
			return err
		}
	}
	return nil
}

// execute computes the operations of pairPlan.
func (b *fakeBinding) execute(op *ir.Op) {
	switch k := op.Do.(type) {
	case *ir.Multiply: // a parameter of one element times a map
		y, x, w := b.tensors[k.Y], b.tensors[k.B], b.tensors[k.A].values[0]
		for i := range y.values {
			y.values[i] = w * x.values[i]
		}
	case *ir.Copy:
		copy(b.tensors[k.Y].values, b.tensors[k.X].values)
	case *ir.Fill: // stands for a counter that moves
		b.tensors[k.Y].values[0]++
	case *ir.Conv2dWeightGradient: // of Multiply for its parameter
		total := 0.0
		for i, v := range b.tensors[k.X].values {
			total += v * b.tensors[k.DY].values[i]
		}
		b.tensors[k.DWeight].values[0] = total
	default:
		panic(fmt.Sprintf("the fake cannot run %T", k))
	}
}

func (b *fakeBinding) Record(p device.Program) (device.Recording, error) {
	d := b.stage.dev
	d.records++
	if d.failRecord != nil {
		if err := d.failRecord(d.records); err != nil {
			return nil, err
		}
	}
	d.counters.Recordings++
	return &fakeRecording{binding: b, program: p}, nil
}

func (b *fakeBinding) Close() error {
	b.stage.dev.counters.Bytes -= 10
	b.stage.dev.closed = append(b.stage.dev.closed, "binding")
	return nil
}

type fakeRecording struct {
	binding *fakeBinding
	program device.Program
}

func (r *fakeRecording) Replay() error {
	d := r.binding.stage.dev
	d.replays++
	ops := r.program.Ops(r.binding.stage.plan)
	if d.failReplay != nil {
		if err := d.failReplay(d.replays); err != nil {
			if device.IsSticky(err) { // it stopped half-way
				r.binding.execute(&ops[len(ops)-1])
			}
			return err
		}
	}
	d.counters.GraphLaunches++
	for i := range ops {
		r.binding.execute(&ops[i])
	}
	return nil
}

func (r *fakeRecording) Nodes() int {
	if r.binding.stage.dev.noNodes {
		return 0
	}
	return len(r.program.Ops(r.binding.stage.plan))
}

func (r *fakeRecording) Close() error {
	d := r.binding.stage.dev
	d.counters.Recordings--
	d.closed = append(d.closed, "recording")
	return d.failClose
}

// fakeTensor keeps every type as float64.
type fakeTensor struct {
	name   string
	shape  []int
	elem   device.Type
	values []float64
}

func newFakeTensor(name string, shape []int, elem device.Type, fill float64) *fakeTensor {
	t := &fakeTensor{name: name, shape: shape, elem: elem, values: make([]float64, device.Elements(shape))}
	for i := range t.values {
		t.values[i] = fill
	}
	return t
}

func (t *fakeTensor) Name() string      { return t.name }
func (t *fakeTensor) Shape() []int      { return t.shape }
func (t *fakeTensor) Type() device.Type { return t.elem }

func move[A, B int64 | float32 | float64](dst []A, src []B) error {
	if len(dst) != len(src) {
		return fmt.Errorf("%d values for %d elements", len(src), len(dst))
	}
	for i, v := range src {
		dst[i] = A(v)
	}
	return nil
}

func (t *fakeTensor) ReadFloat64(dst []float64) error  { return move(dst, t.values) }
func (t *fakeTensor) WriteFloat64(src []float64) error { return move(t.values, src) }
func (t *fakeTensor) ReadFloat32(dst []float32) error  { return move(dst, t.values) }
func (t *fakeTensor) WriteFloat32(src []float32) error { return move(t.values, src) }
func (t *fakeTensor) ReadInt64(dst []int64) error      { return move(dst, t.values) }
func (t *fakeTensor) WriteInt64(src []int64) error     { return move(t.values, src) }
func (t *fakeTensor) Zero() error                      { clear(t.values); return nil }

func (t *fakeTensor) WriteImages(pixels []uint8, _ []device.Jitter) error {
	return errors.New("the fake has no maps of three channels")
}

func (t *fakeTensor) CopyFrom(src device.Tensor) error {
	from, ok := src.(*fakeTensor)
	if !ok {
		return fmt.Errorf("%T is a tensor of another device", src)
	}
	return move(t.values, from.values)
}

func (t *fakeTensor) Add(src device.Tensor) error {
	from, ok := src.(*fakeTensor)
	if !ok {
		return fmt.Errorf("%T is a tensor of another device", src)
	}
	for i := range t.values {
		t.values[i] += from.values[i]
	}
	return nil
}

// pairPlan is a stage with one image (N, 1, H, W) and two weights: o1 = a*x by
// way of a tensor named hidden, o2 = b*x, whose cotangent may be absent. The
// parameter unused takes no part, and the buffer steps counts training passes.
func pairPlan(name string) *ir.Stage {
	s := &ir.Stage{Format: ir.FormatVersion, Name: name, Multiple: ir.Multiple{Height: 2, Width: 2}}
	tensor := func(label string, shape ...ir.Dim) ir.Ref {
		st := s.AddStorage(ir.Storage{Name: label})
		return s.AddTensor(ir.Tensor{Name: label, Shape: shape, Storage: st, Strides: ir.RowMajor(shape)})
	}
	image := []ir.Dim{ir.N, ir.Const(1), ir.H, ir.W}
	one := ir.Const(1)
	x, hidden, o1, o2 := tensor("x", image...), tensor("hidden", image...), tensor("o1", image...), tensor("o2", image...)
	c1, c2 := tensor("o1.cotangent", image...), tensor("o2.cotangent", image...)
	a, b, unused := tensor("a", one), tensor("b", one), tensor("unused", ir.Const(8))
	da, db, steps := tensor("a.gradient", one), tensor("b.gradient", one), tensor("steps", one)

	s.Inputs = []ir.Port{{Name: "x", Tensor: x}}
	s.Outputs = []ir.Port{{Name: "o1", Tensor: o1, Gradient: c1}, {Name: "o2", Tensor: o2, Gradient: c2, Optional: true}}
	s.Parameters = []ir.Parameter{
		{Name: name + ".a", Shape: []int{1}, Tensor: a, Gradient: da, Init: ir.Initialise{Value: 1}},
		{Name: name + ".b", Shape: []int{1}, Tensor: b, Gradient: db, Init: ir.Initialise{Value: 1}},
		{Name: name + ".unused", Shape: []int{8}, Tensor: unused, Init: ir.Initialise{Value: 1}},
	}
	s.Buffers = []ir.Buffer{{Name: name + ".steps", Shape: []int{1}, Elem: ir.Counter, Tensor: steps}}
	s.Forward = []ir.Op{
		{Name: "hidden", Do: &ir.Multiply{A: a, B: x, Y: hidden}},
		{Name: "o1", Do: &ir.Copy{X: hidden, Y: o1}},
		{Name: "o2", Do: &ir.Multiply{A: b, B: x, Y: o2}},
		{Name: "steps", Mode: ir.Training, Do: &ir.Fill{Y: steps}},
	}
	gradientA := ir.Op{Name: "a.gradient", Do: &ir.Conv2dWeightGradient{X: x, DY: c1, DWeight: da}}
	gradientB := ir.Op{Name: "b.gradient", Do: &ir.Conv2dWeightGradient{X: x, DY: c2, DWeight: db}}
	s.Backward = []ir.Backward{
		{Present: []string{"o1"}, Parameters: []string{name + ".a"}, Ops: []ir.Op{gradientA}},
		{Present: []string{"o1", "o2"}, Parameters: []string{name + ".a", name + ".b"}, Ops: []ir.Op{gradientA, gradientB}},
	}
	return s
}
