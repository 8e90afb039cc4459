//go:build cuda

package cuda

// #include "reprise_driver.h"
import "C"

import (
	"unsafe"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// RunObserved implements device.Observable: the steps of the program one after
// another, with a wait for each launch.
func (b *binding) RunObserved(p device.Program, after func(op *ir.Op, tensor func(ir.Ref) device.Tensor) error) error {
	number, err := b.number(p)
	if err != nil {
		return err
	}
	plan := b.stage.plan
	ops := plan.Forward
	if p.Backward {
		ops = plan.Backward[p.Pattern].Ops
	}
	program := unsafe.Slice(b.stage.generated.wrapper().program, int(number)+1)[number]
	for i, step := range unsafe.Slice(program.step, int(program.steps)) {
		err := b.stage.device.thread.do(func() error {
			return b.counting(func() C.CUresult { return C.reprise_run_step(b.context, number, C.int(i)) })
		})
		if err != nil {
			return err
		}
		if step.kind != C.reprise_launch || step.value < 0 {
			continue
		}
		if err := after(&ops[step.value], b.observed); err != nil {
			return err
		}
	}
	return nil
}

// observed opens any tensor of the plan; nil when it has no memory.
func (b *binding) observed(ref ir.Ref) device.Tensor {
	plan := b.stage.plan
	if ref < 1 || int(ref) > len(plan.Tensors) {
		return nil
	}
	t, err := b.tensor(plan.Tensor(ref).Name, ref)
	if err != nil {
		return nil
	}
	return t
}
