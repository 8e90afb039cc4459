//go:build cuda

package cuda

// #include "reprise_driver.h"
import "C"

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// number is the position of a program in the wrapper's table, after checking
// that it exists and can run at the binding's sizes.
func (b *binding) number(p device.Program) (C.int, error) {
	plan := b.stage.plan
	switch {
	case b.closed:
		return 0, fmt.Errorf("binding of stage %s at %s is closed", plan.Name, b.sizes)
	case p.Backward && (p.Pattern < 0 || p.Pattern >= len(plan.Backward)):
		return 0, fmt.Errorf("stage %s has %d backward programs, none is number %d", plan.Name, len(plan.Backward), p.Pattern)
	case p.Backward:
		return C.int(2 + p.Pattern), nil
	case p.Mode == ir.Training:
		return 0, b.checkStatistics()
	case p.Mode == ir.Eval:
		return 1, nil
	}
	return 0, fmt.Errorf("stage %s: a forward program has mode %s or %s, not %q", plan.Name, ir.Training, ir.Eval, p.Mode)
}

// checkStatistics refuses batch statistics of one value per channel, which has
// no variance (field case SG-05).
func (b *binding) checkStatistics() error {
	plan := b.stage.plan
	for i := range plan.Forward {
		op := &plan.Forward[i]
		k, ok := op.Do.(*ir.BatchStatistics)
		if !ok || op.Mode == ir.Eval {
			continue
		}
		values := 1
		for axis, dim := range plan.Tensor(k.X).Shape {
			if axis == 1 {
				continue
			}
			n, err := dim.Eval(b.sizes)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", op.Pos, op.Name, err)
			}
			values *= n
		}
		if values == 1 {
			return fmt.Errorf("%s: %s %s of stage %s: batch norm of %s has one value per channel; use a larger batch or image", op.Pos, k.Kind(), op.Name, plan.Name, op.Name)
		}
	}
	return nil
}

// Run implements device.Binding. Errors of the kernels themselves come later:
// from the call that waits for them.
func (b *binding) Run(p device.Program) error {
	number, err := b.number(p)
	if err != nil {
		return err
	}
	d := b.stage.device
	if err := d.event("run"); err != nil {
		return err
	}
	return d.thread.do(func() error {
		return b.counting(func() C.CUresult { return C.reprise_run(b.context, number) })
	})
}
