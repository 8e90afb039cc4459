package rounding

import (
	"math/rand/v2"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// draw moves the values of one run.
type draw struct {
	plan      *ir.Stage
	precision device.Precision
	random    *rand.Rand
}

// begin moves what the step starts from: inputs and cotangents in their format,
// and the weights of convolutions and products, which launches read in it. Vectors
// are scales, shifts and biases, which are read in FP32.
func (d draw) begin(stage device.Stage, binding device.Binding) error {
	if d.precision == device.FP32 {
		return nil // given in FP32
	}
	stored := formatOf(ir.Activation, d.precision)
	var tensors []device.Tensor
	for i, p := range d.plan.Parameters {
		if len(p.Shape) > 1 {
			tensors = append(tensors, stage.Parameter(i))
		}
	}
	for i := range d.plan.Inputs {
		tensors = append(tensors, binding.Input(i))
	}
	for i := range d.plan.Outputs {
		if c := binding.Cotangent(i); c != nil {
			tensors = append(tensors, c)
		}
	}
	for _, t := range tensors {
		if err := d.move(t, stored, nil); err != nil {
			return err
		}
	}
	return nil
}

// after moves what a launch has stored.
func (d draw) after(op *ir.Op, tensor func(ir.Ref) device.Tensor) error {
	beside, err := terms(op, tensor)
	if err != nil {
		return err
	}
	for _, ref := range op.Writes() {
		element := d.plan.StorageOf(ref).Elem
		if element != ir.Activation && element != ir.Master {
			continue
		}
		if err := d.move(tensor(ref), formatOf(element, d.precision), beside[ref]); err != nil {
			return err
		}
	}
	return nil
}

func (d draw) move(t device.Tensor, f format, beside []float64) error {
	values := make([]float32, device.Elements(t.Shape()))
	if err := t.ReadFloat32(values); err != nil {
		return err
	}
	f.blur(values, beside, d.random)
	return t.WriteFloat32(values)
}
