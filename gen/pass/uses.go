package pass

import (
	"sort"

	"github.com/reprise-ml/reprise/gen/ir"
)

// uses remembers who touched which memory, to find the launches that a new
// launch conflicts with: one of the two writes what the other touches.
type uses struct {
	regions *regions
	touched map[memory][]use
	apart   bool // storages share no memory: slots have not been given yet
}

// memory is a piece of memory that can be shared: an arena slot or a storage.
type memory struct {
	slot    int // plus 1; 0 for a storage of its own
	elem    ir.Element
	storage ir.StorageID
}

type use struct {
	launch int
	tensor ir.Ref
	writes bool
}

func newUses(r *regions) *uses { return &uses{regions: r, touched: map[memory][]use{}} }

// add records launch i and returns the earlier launches that it must follow,
// sorted.
func (u *uses) add(i int, op *ir.Op) ([]int, error) {
	found := map[int]bool{}
	var mine []use
	op.Do.Operands(func(_ string, ref *ir.Ref, access ir.Access) {
		if *ref != 0 {
			mine = append(mine, use{launch: i, tensor: *ref, writes: access != ir.Read})
		}
	})
	for _, m := range mine {
		where := u.memoryOf(m.tensor)
		for _, before := range u.touched[where] {
			if found[before.launch] || !m.writes && !before.writes {
				continue
			}
			meets, err := u.meet(m.tensor, before.tensor)
			if err != nil {
				return nil, err
			}
			if meets {
				found[before.launch] = true
			}
		}
	}
	for _, m := range mine {
		where := u.memoryOf(m.tensor)
		u.touched[where] = append(u.touched[where], m)
	}
	var out []int
	for launch := range found {
		out = append(out, launch)
	}
	sort.Ints(out)
	return out, nil
}

func (u *uses) memoryOf(ref ir.Ref) memory {
	id := u.regions.stage.Tensor(ref).Storage
	storage := u.regions.stage.Storage(id)
	if storage.Space == ir.Arena && !u.apart {
		return memory{slot: storage.Slot + 1, elem: storage.Elem}
	}
	return memory{storage: id}
}

// meet tells whether two tensors in one memory share an element; different
// storages in one slot always do.
func (u *uses) meet(a, b ir.Ref) (bool, error) {
	if a == b || u.regions.stage.Tensor(a).Storage != u.regions.stage.Tensor(b).Storage {
		return true, nil
	}
	one, err := u.regions.of(a)
	if err != nil {
		return false, err
	}
	two, err := u.regions.of(b)
	if err != nil {
		return false, err
	}
	return one.meets(two) > 0, nil
}
