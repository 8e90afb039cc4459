package pass

import (
	"github.com/reprise-ml/reprise/gen/ir"
)

// arena gives every scratch storage a place. Two storages of one element kind may
// share memory when every launch that touches the later one follows all that touch
// the earlier one anyway, or comes much later, so that sharing does not make
// independent branches wait for one another. Places are packed at nominal sizes;
// other sizes keep their order (ir.Stage.Stack).
func arena(s *ir.Stage) error {
	after, err := newSuccession(s)
	if err != nil {
		return err
	}
	items, err := arenaItems(s, after)
	if err != nil {
		return err
	}
	for _, members := range items {
		p := newPacking(members, after)
		for i, from := range p.best() {
			for _, id := range members[i].storages {
				s.Storage(id).Place = ir.Place{From: from, To: from + members[i].size}
			}
		}
	}
	return nil
}

// arenaItems lists what the arena must hold, by element kind. A storage that takes
// over the memory of another, and waits for nothing more by that, is one item with it.
func arenaItems(s *ir.Stage, after *succession) (map[ir.Element][]item, error) {
	lives, items := lifetimes(s), map[ir.Element][]item{}
	over, heir := takeovers(s, lives), map[ir.StorageID]ir.StorageID{}
	for result, operand := range over {
		if after.follows(result, operand) {
			heir[operand] = result
		} else {
			delete(over, result)
		}
	}
	for i := range s.Storages {
		id := ir.StorageID(i + 1)
		life, used := lives[id]
		if _, with := over[id]; !used || with {
			continue
		}
		it, err := newItem(s, id, life)
		if err != nil {
			return nil, err
		}
		if result, ok := heir[id]; ok {
			it.storages = append(it.storages, result)
			it.life = life.with(lives[result])
		}
		elem := s.Storage(id).Elem
		items[elem] = append(items[elem], it)
	}
	return items, nil
}

func newItem(s *ir.Stage, id ir.StorageID, life life) (item, error) {
	nominal := Nominal(s)
	size, err := s.Storage(id).Size.Eval(nominal)
	if err != nil {
		return item{}, err
	}
	large, err := s.Storage(id).Size.Eval(ir.Sizes{Batch: nominal.Batch, Height: 2 * nominal.Height, Width: 2 * nominal.Width})
	size = max(size, 1)
	return item{storages: []ir.StorageID{id}, size: size, growth: large / size, life: life}, err
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
