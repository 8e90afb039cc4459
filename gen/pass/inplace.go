package pass

import (
	"slices"

	"github.com/reprise-ml/reprise/gen/ir"
)

// takeovers finds storages whose memory another one may have while both are alive:
// the launch that reads the first for the last time writes the second in place. By
// storage that is written, the storage that ends.
func takeovers(s *ir.Stage, lives map[ir.StorageID]life) map[ir.StorageID]ir.StorageID {
	over, taken := map[ir.StorageID]ir.StorageID{}, map[ir.StorageID]bool{}
	for _, b := range s.Backward {
		for i := range b.Ops {
			result, operand := inPlace(s, &b.Ops[i])
			if result == 0 || result == operand || taken[result] || taken[operand] || !takesOver(s, lives, result, operand) {
				continue
			}
			over[result] = operand
			taken[result], taken[operand] = true, true
		}
	}
	return over
}

// inPlace gives the storages in the arena of result and operand of a launch that may
// work in place; 0 and 0: it may not.
func inPlace(s *ir.Stage, op *ir.Op) (result, operand ir.StorageID) {
	k, ok := op.Do.(ir.InPlace)
	if !ok {
		return 0, 0
	}
	r, o := k.Over()
	if r == 0 || o == 0 || s.StorageOf(r).Space != ir.Arena || s.StorageOf(o).Space != ir.Arena || !alike(s, r, o) {
		return 0, 0
	}
	return s.Tensor(r).Storage, s.Tensor(o).Storage
}

// alike tells whether two tensors lie in their storages in the same way.
func alike(s *ir.Stage, a, b ir.Ref) bool {
	one, two := s.Tensor(a), s.Tensor(b)
	return one.Elem == two.Elem && one.Offset.Equal(two.Offset) && ir.EqualShapes(one.Shape, two.Shape) &&
		slices.EqualFunc(one.Strides, two.Strides, ir.Dim.Equal) && s.StorageOf(a).Size.Equal(s.StorageOf(b).Size)
}

// takesOver tells whether in every course of a step the operand is no more used
// when the result is, but for the launch that works in place.
func takesOver(s *ir.Stage, lives map[ir.StorageID]life, result, operand ir.StorageID) bool {
	for course, end := range lives[operand] {
		begin := lives[result][course].first
		if end.last < begin {
			continue
		}
		if end.last > begin {
			return false
		}
		op := launch(s, course, begin)
		if r, o := inPlace(s, op); r != result || o != operand {
			return false
		}
	}
	return true
}

// launch gives the operation that is the at-th of a course.
func launch(s *ir.Stage, course, at int) *ir.Op {
	if at < len(s.Forward) {
		return &s.Forward[at]
	}
	return &s.Backward[course].Ops[at-len(s.Forward)]
}
