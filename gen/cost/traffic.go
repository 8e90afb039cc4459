package cost

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Traffic is the least number of bytes that some launches of a plan move at
// given sizes: every operand of every launch is read or written once, and one
// that is updated is both. Activations have the given number of bytes. A rate
// against it is a lower bound of the rate at which memory works.
func Traffic(plan *ir.Stage, ops []ir.Op, sizes ir.Sizes, activation int) (int, error) {
	if err := plan.CheckSizes(sizes); err != nil {
		return 0, err
	}
	total := 0
	for i := range ops {
		for _, ref := range append(ops[i].Reads(), ops[i].Writes()...) {
			t := plan.Tensor(ref)
			elements, err := ir.Elements(t.Shape).Eval(sizes)
			if err != nil {
				return 0, fmt.Errorf("stage %s: %s: %w", plan.Name, ops[i].Name, err)
			}
			total += elements * bytesOf(t.Elem, activation)
		}
	}
	return total, nil
}
