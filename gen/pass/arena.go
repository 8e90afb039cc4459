package pass

import (
	"sort"

	"github.com/reprise-ml/reprise/gen/ir"
)

// arena gives every scratch storage a slot. Two storages of one element kind
// share a slot when every launch that touches the later one follows all that
// touch the earlier one anyway, or comes much later, so that sharing does not
// make independent branches wait for one another. A slot is as large as its largest member at the sizes of
// a call, and slots lie one after the other, so every offset is fixed by the plan
// and the sizes. Lives are counted over the forward program followed by each
// backward program.
func arena(s *ir.Stage) error {
	lives := lifetimes(s)
	order := make([]ir.StorageID, 0, len(lives))
	for id := range lives {
		order = append(order, id)
	}
	sort.Slice(order, func(i, j int) bool {
		a, b := lives[order[i]], lives[order[j]]
		if a.first != b.first {
			return a.first < b.first
		}
		return order[i] < order[j]
	})
	after, err := newSuccession(s)
	if err != nil {
		return err
	}
	var slots []slot
	nominal := Nominal(s)
	for _, id := range order {
		storage := s.Storage(id)
		size, err := storage.Size.Eval(nominal)
		if err != nil {
			return err
		}
		best := -1
		for i, candidate := range slots {
			if candidate.elem != storage.Elem || candidate.busy >= lives[id].first || !after.all(id, candidate.members) {
				continue
			}
			if best < 0 || closer(candidate.size, slots[best].size, size) {
				best = i
			}
		}
		if best < 0 {
			slots = append(slots, slot{elem: storage.Elem})
			best = len(slots) - 1
		}
		slots[best].busy = lives[id].last
		slots[best].size = max(slots[best].size, size)
		slots[best].members = append(slots[best].members, id)
		storage.Slot = best
	}
	return nil
}

// slot is a piece of the arena with the storages that have been put into it.
type slot struct {
	elem    ir.Element
	busy    int // last use of the latest member
	size    int
	members []ir.StorageID
}

// closer tells whether a slot of size a suits a storage better than one of
// size b: the smallest that is large enough, else the largest.
func closer(a, b, size int) bool {
	if (a >= size) != (b >= size) {
		return a >= size
	}
	if a >= size {
		return a < b
	}
	return a > b
}

// Nominal gives the sizes at which a plan is judged: batch 4 and 640 px, or
// the next sizes that the stage allows.
func Nominal(s *ir.Stage) ir.Sizes {
	up := func(multiple int) int {
		m := max(multiple, 1)
		return (640 + m - 1) / m * m
	}
	return ir.Sizes{Batch: 4, Height: up(s.Multiple.Height), Width: up(s.Multiple.Width)}
}

// life is the span of launches from the first to the last use of a storage.
type life struct{ first, last int }

// lifetimes counts the launches of the forward program from 0 and those of
// every backward program from the end of the forward program.
func lifetimes(s *ir.Stage) map[ir.StorageID]life {
	lives := map[ir.StorageID]life{}
	note := func(ops []ir.Op, from int) {
		for i := range ops {
			ops[i].Do.Operands(func(_ string, ref *ir.Ref, _ ir.Access) {
				if *ref == 0 || s.StorageOf(*ref).Space != ir.Arena {
					return
				}
				id, at := s.Tensor(*ref).Storage, from+i
				l, known := lives[id]
				if !known {
					l = life{at, at}
				}
				lives[id] = life{min(l.first, at), max(l.last, at)}
			})
		}
	}
	note(s.Forward, 0)
	for _, b := range s.Backward {
		note(b.Ops, len(s.Forward))
	}
	return lives
}
