package rounding

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

// Step is a training step of a stage: forward, and backward with all outputs used.
type Step struct {
	Plan  *ir.Stage
	Sizes ir.Sizes

	// Fill writes parameters and buffers, Inputs the inputs and cotangents of a
	// binding; both must write the same at each call.
	Fill   func(device.Stage) error
	Inputs func(device.Stage, device.Binding) error
}

// programs are those of a step, in order.
var programs = []device.Program{device.Forward(ir.Training), device.BackwardOf(0)}

// State is what a step leaves: outputs, gradients and buffers by kind and name.
type State map[string][]float64

// Exact runs the step in float64.
func (s Step) Exact() (State, error) { return s.run(device.Float64, observer{}) }

// Rounded runs the step in float32 and moves every value that is stored, as
// rounding to the precision may, at random. In 16 bits these are maps and their
// gradients, and weights where a launch reads them; sums, statistics and gradients
// of parameters stay in FP32.
func (s Step) Rounded(p device.Precision, seed uint64) (State, error) {
	d := draw{s.Plan, p, rand.New(rand.NewPCG(seed, 0))}
	return s.run(device.FP32, observer{d.begin, d.after})
}

// observer sees a step before its first launch and after each launch.
type observer struct {
	begin func(device.Stage, device.Binding) error
	after func(*ir.Op, func(ir.Ref) device.Tensor) error
}

// run runs the step on the host.
func (s Step) run(p device.Precision, o observer) (state State, err error) {
	dev := host.Open(host.Options{})
	defer func() { err = errors.Join(err, dev.Close()) }()
	stage, err := dev.Load(s.Plan, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	binding, err := stage.Bind(s.Sizes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, binding.Close()) }()
	if err := errors.Join(s.Fill(stage), s.Inputs(stage, binding)); err != nil {
		return nil, err
	}
	if o.begin != nil {
		if err := o.begin(stage, binding); err != nil {
			return nil, err
		}
	}
	for _, program := range programs {
		if err := runProgram(binding, program, o); err != nil {
			return nil, err
		}
	}
	return Read(stage, binding)
}

func runProgram(b device.Binding, p device.Program, o observer) error {
	if o.after == nil {
		return b.Run(p)
	}
	observable, ok := b.(device.Observable)
	if !ok {
		return fmt.Errorf("%T shows no launches", b)
	}
	return observable.RunObserved(p, o.after)
}

// Read reads what a step has left.
func Read(stage device.Stage, binding device.Binding) (State, error) {
	state := State{}
	var errs []error
	add := func(kind string, t device.Tensor) {
		if t == nil {
			return
		}
		values := make([]float64, device.Elements(t.Shape()))
		errs = append(errs, t.ReadFloat64(values))
		state[kind+" "+t.Name()] = values
	}
	plan := stage.Plan()
	for i := range plan.Outputs {
		add("output", binding.Output(i))
	}
	for i := range plan.Inputs {
		add("input gradient", binding.InputGradient(i))
	}
	for i := range plan.Parameters {
		add("gradient", stage.Gradient(i))
	}
	for i := range plan.Buffers {
		add("buffer", stage.Buffer(i))
	}
	return state, errors.Join(errs...)
}
