package device

import (
	"time"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Precision is the element type of a fit's activations. Weights, gradients,
// statistics and optimizer state are FP32 in every mode but Float64, which
// exists for checks and makes everything float64.
type Precision string

// The precisions.
const (
	FP32    Precision = "fp32"
	FP16    Precision = "fp16"
	BF16    Precision = "bf16"
	Float64 Precision = "float64"
)

// Info describes a device to guards and reports.
type Info struct {
	Name       string      // for people, such as "host, 2 cores"
	Kind       string      // "host" or "cuda"
	Precisions []Precision // that it can run and replay
}

// Device is one back end on one device. All calls of one fit come from one
// goroutine.
type Device interface {
	Info() Info

	// Load places the parameters, gradients and buffers of a stage on the
	// device, in the given precision, with every byte zero.
	Load(plan *ir.Stage, precision Precision) (Stage, error)

	// Counters tells what has happened since the device was opened.
	Counters() Counters

	// Close releases the device. Every stage must have been closed.
	Close() error
}

// Counters is what a back end counts where it happens: in the code that
// launches. Tests use it to prove that replays were replays.
type Counters struct {
	KernelLaunches int64 // launches issued one by one
	GraphLaunches  int64 // replays of a recording
	Recordings     int64 // alive now
	Bytes          int64 // allocated now
	PeakBytes      int64

	// Reserved is the memory that the driver holds for all of this, with code,
	// recordings and the rest of its pages; 0 where nobody but the runtime
	// hands out memory.
	Reserved     int64
	PeakReserved int64

	// Loading is the time that it took to give kernels to the driver; 0 where
	// kernels are part of the program.
	Loading time.Duration
}

// Stage is a plan loaded on a device.
type Stage interface {
	Plan() *ir.Stage

	// Parameter, Gradient and Buffer give the tensors of the plan's tables by
	// position. Gradient is nil for a parameter that no program reaches.
	Parameter(i int) Tensor
	Gradient(i int) Tensor
	Buffer(i int) Tensor

	// Bind sizes everything for one set of sizes: inputs, outputs,
	// cotangents and the arena. Contents start as NaN (floats) or zero.
	Bind(sizes ir.Sizes) (Binding, error)

	// Close releases the stage. Every binding must have been closed.
	Close() error
}

// Binding is a stage sized for one signature: everything a launch needs is
// resolved, and nothing is allocated after it exists.
type Binding interface {
	Sizes() ir.Sizes

	// Input, Output, Cotangent and InputGradient give the tensors of the
	// plan's ports by position; nil where the plan has none.
	Input(i int) Tensor
	Output(i int) Tensor
	Cotangent(i int) Tensor
	InputGradient(i int) Tensor

	// Run issues the launches of a program one by one: the native path.
	Run(p Program) error

	// Record captures the launches of a program without executing any. After
	// an error nothing is left of the attempt and Run works as before.
	Record(p Program) (Recording, error)

	// Close releases the binding. Every recording must have been closed.
	Close() error
}

// Program names one list of launches of a plan.
type Program struct {
	Backward bool
	Mode     ir.Mode // of a forward program: ir.Training or ir.Eval
	Pattern  int     // of a backward program: position in ir.Stage.Backward
}

// Forward is the forward program of a mode.
func Forward(mode ir.Mode) Program { return Program{Mode: mode} }

// BackwardOf is the backward program of a presence pattern.
func BackwardOf(pattern int) Program {
	return Program{Backward: true, Mode: ir.Training, Pattern: pattern}
}

// Ops gives the operations of the program in launch order.
func (p Program) Ops(plan *ir.Stage) []ir.Op {
	if p.Backward {
		return plan.Backward[p.Pattern].Ops
	}
	var ops []ir.Op
	for _, op := range plan.Forward {
		if op.Mode == ir.Always || op.Mode == p.Mode {
			ops = append(ops, op)
		}
	}
	return ops
}

// Recording is a captured list of launches.
type Recording interface {
	// Replay runs the recording as one launch, all of it or nothing: after an
	// error that is not a StickyError no launch has run or will, so that the
	// caller can run the program natively in its place.
	Replay() error
	// Nodes is the number of kernel launches captured.
	Nodes() int
	// Close releases the recording after its last replay has finished.
	Close() error
}
