package pass

import (
	"slices"

	"github.com/reprise-ml/reprise/gen/ir"
)

// reductions moves the sums of the gradient of a batch norm up to the convolution
// whose input gradient they are of. There they are issued on its lane, with
// nothing in between, and its kernel can take the sums while it writes the map.
func reductions(s *ir.Stage) error {
	for b := range s.Backward {
		ops := s.Backward[b].Ops
		for j := range ops {
			if i := makerOf(s, ops, j); i >= 0 {
				moved := ops[j]
				copy(ops[i+2:j+1], ops[i+1:j])
				ops[i+1] = moved
			}
		}
	}
	return nil
}

// makerOf finds the input gradient that a reduction sums and can follow at once;
// -1: there is none.
func makerOf(s *ir.Stage, ops []ir.Op, j int) int {
	reduction, ok := ops[j].Do.(*ir.NormalizeReduce)
	if !ok {
		return -1
	}
	for i := j - 1; i >= 0; i-- {
		if !meet(s, &ops[i], &ops[j]) {
			continue
		}
		if maker, ok := ops[i].Do.(*ir.Conv2dInputGradient); ok && maker.DX == reduction.DY {
			return i
		}
		return -1
	}
	return -1
}

// meet tells whether one of two operations writes to a storage that the other
// touches.
func meet(s *ir.Stage, a, b *ir.Op) bool {
	touches := func(op *ir.Op, written []ir.Ref) bool {
		return slices.ContainsFunc(append(op.Reads(), op.Writes()...), func(r ir.Ref) bool {
			return slices.ContainsFunc(written, func(w ir.Ref) bool { return s.Tensor(r).Storage == s.Tensor(w).Storage })
		})
	}
	return touches(a, b.Writes()) || touches(b, a.Writes())
}
