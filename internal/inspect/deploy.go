package inspect

import (
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// trainingBranch starts the names of outputs that only training reads.
const trainingBranch = "o2m_"

// Deployed gives the part of a stage that runs after training: the stage
// without the outputs of the one-to-many branch, without outputs that only
// training has, and without every operation, parameter and buffer that only
// these need (YOLO26 specification, network sections 7 and 10). It works on a
// stage as its author wrote it and after the passes; the result shares tensors
// with s and holds no backward programs.
func Deployed(s *ir.Stage) *ir.Stage {
	out := *s
	out.Outputs, out.Forward, out.Parameters, out.Buffers, out.Backward = nil, nil, nil, nil, nil
	needed := map[int]bool{}
	for _, p := range s.Outputs {
		if !p.TrainingOnly && !strings.HasPrefix(p.Name, trainingBranch) {
			out.Outputs = append(out.Outputs, p)
			needed[place(s, p.Tensor)] = true
		}
	}
	keep := make([]bool, len(s.Forward))
	for i := len(s.Forward) - 1; i >= 0; i-- {
		op := &s.Forward[i]
		keep[i] = op.Mode != ir.Training && gives(s, op, needed)
		if keep[i] {
			op.Do.Operands(func(_ string, ref *ir.Ref, _ ir.Access) {
				if *ref != 0 {
					needed[place(s, *ref)] = true
				}
			})
		}
	}
	for i, kept := range keep {
		if kept {
			out.Forward = append(out.Forward, s.Forward[i])
		}
	}
	for _, p := range s.Parameters {
		if needed[place(s, p.Tensor)] {
			out.Parameters = append(out.Parameters, p)
		}
	}
	for _, b := range s.Buffers {
		if needed[place(s, b.Tensor)] {
			out.Buffers = append(out.Buffers, b)
		}
	}
	return &out
}

// gives tells whether an operation writes something that is needed. State that
// it moves along, such as running statistics, is no reason to run it.
func gives(s *ir.Stage, op *ir.Op, needed map[int]bool) bool {
	found := false
	op.Do.Operands(func(_ string, ref *ir.Ref, access ir.Access) {
		found = found || access == ir.Write && *ref != 0 && needed[place(s, *ref)]
	})
	return found
}

// place identifies the memory of a tensor: views of one storage are one place.
// Before the passes every tensor is a place of its own.
func place(s *ir.Stage, ref ir.Ref) int {
	if storage := s.Tensor(ref).Storage; storage != 0 {
		return -int(storage)
	}
	return int(ref)
}
