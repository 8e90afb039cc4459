package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/inspect"
	"github.com/reprise-ml/reprise/internal/networks"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// Workload says what is measured.
type Workload struct {
	Task      string
	Scale     string // letter
	Stage     string // empty: the first stage of the task
	Sizes     ir.Sizes
	Precision device.Precision
}

// String names the workload, such as "obb n network 4x1024x1024 bf16".
func (w Workload) String() string {
	return fmt.Sprintf("%s %s %s %s %s", w.Task, w.Scale, w.Stage, w.Sizes, w.Precision)
}

// plan finds the stage and fills in its name.
func (w *Workload) plan() (*ir.Stage, error) {
	network, err := inspect.FindNetwork(w.Task)
	if err != nil {
		return nil, err
	}
	classes := network.Classes
	if w.Scale == "t" { // the packages of test scale have four
		classes = 4
	}
	plans, err := networks.Find(networks.Want{Task: w.Task, Scale: w.Scale, Classes: classes, Keypoints: network.Keypoints})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, load := range plans {
		plan, err := load()
		if err != nil {
			return nil, err
		}
		if w.Stage == "" || w.Stage == plan.Name {
			w.Stage = plan.Name
			return plan, plan.CheckSizes(w.Sizes)
		}
		names = append(names, plan.Name)
	}
	return nil, fmt.Errorf("task %s has no stage %q; it has %s", w.Task, w.Stage, strings.Join(names, ", "))
}

// fill gives parameters and buffers the values that a fit starts with, and
// inputs and cotangents numbers of a fixed seed.
func fill(stage device.Stage, binding device.Binding) error {
	plan := stage.Plan()
	for i, p := range plan.Parameters {
		if err := stage.Parameter(i).WriteFloat64(replay.Start(1, p)); err != nil {
			return err
		}
	}
	for i, b := range plan.Buffers {
		t := stage.Buffer(i)
		values := make([]float64, device.Elements(t.Shape()))
		for k := range values {
			values[k] = b.Value
		}
		if t.Type() == device.TypeInt64 || t.Type() == device.TypeInt32 {
			continue // counters start at zero, which they are
		}
		if err := t.WriteFloat64(values); err != nil {
			return err
		}
	}
	var errs []error
	for i := range plan.Inputs {
		errs = append(errs, noise(binding.Input(i), uint64(i), 1))
	}
	for i := range plan.Outputs {
		if c := binding.Cotangent(i); c != nil {
			errs = append(errs, noise(c, uint64(1000+i), 1e-3))
		}
	}
	return errors.Join(errs...)
}

// noise writes uniform numbers of (-scale, scale).
func noise(t device.Tensor, seed uint64, scale float32) error {
	stream := rand.New(rand.NewPCG(seed, 1))
	values := make([]float32, device.Elements(t.Shape()))
	for i := range values {
		values[i] = scale * (2*stream.Float32() - 1)
	}
	return t.WriteFloat32(values)
}
