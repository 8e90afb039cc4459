package pass

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// verify checks what the other passes rely on: every tensor is given a value
// once and before it is read. The builder cannot produce anything else; a
// stage that was read from elsewhere can.
func verify(s *ir.Stage) error {
	defined := map[ir.Ref]ir.Mode{}
	given := func(ref ir.Ref) { defined[ref] = ir.Always }
	for _, p := range s.Inputs {
		given(p.Tensor)
	}
	for _, p := range s.Parameters {
		given(p.Tensor)
	}
	for _, b := range s.Buffers {
		given(b.Tensor)
	}
	for i := range s.Forward {
		op := &s.Forward[i]
		for _, r := range op.Reads() {
			if _, ok := defined[r]; !ok {
				return fmt.Errorf("%s: %s reads %s before it has a value", op.Pos, op.Name, s.Tensor(r).Name)
			}
		}
		var twice error
		op.Do.Operands(func(_ string, ref *ir.Ref, access ir.Access) {
			if access != ir.Write || *ref == 0 {
				return
			}
			if before, ok := defined[*ref]; ok && (before == ir.Always || op.Mode == ir.Always || before == op.Mode) {
				twice = fmt.Errorf("%s: %s gives %s a second value", op.Pos, op.Name, s.Tensor(*ref).Name)
			}
			defined[*ref] = op.Mode
		})
		if twice != nil {
			return twice
		}
	}
	for _, p := range s.Outputs {
		if _, ok := defined[p.Tensor]; !ok {
			return fmt.Errorf("%s: the output %s has no value", p.Pos, p.Name)
		}
	}
	return nil
}
