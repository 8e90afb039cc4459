package pass

import (
	"cmp"
	"slices"

	"github.com/reprise-ml/reprise/gen/ir"
)

// uses remembers who touched which storage, to find the launches that a new
// launch conflicts with: one of the two writes what the other touches.
type uses struct {
	regions *regions
	touched map[ir.StorageID][]use
	sharing map[ir.StorageID][]ir.StorageID // storages whose places meet, both ways
}

type use struct {
	launch int
	tensor ir.Ref
	writes bool
}

// newUses counts storages as memory of their own, but for those that share some.
func newUses(r *regions, sharing map[ir.StorageID][]ir.StorageID) *uses {
	return &uses{regions: r, touched: map[ir.StorageID][]use{}, sharing: sharing}
}

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
		id := u.regions.stage.Tensor(m.tensor).Storage
		for _, before := range u.touched[id] {
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
		for _, other := range u.sharing[id] {
			for _, before := range u.touched[other] {
				if m.writes || before.writes {
					found[before.launch] = true
				}
			}
		}
	}
	for _, m := range mine {
		id := u.regions.stage.Tensor(m.tensor).Storage
		u.touched[id] = append(u.touched[id], m)
	}
	var out []int
	for launch := range found {
		out = append(out, launch)
	}
	slices.Sort(out)
	return out, nil
}

// meet tells whether two tensors of one storage share an element.
func (u *uses) meet(a, b ir.Ref) (bool, error) {
	if a == b {
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

// sharing finds the storages whose places in the arena meet.
func sharing(s *ir.Stage) map[ir.StorageID][]ir.StorageID {
	byKind := map[ir.Element][]ir.StorageID{}
	for i, st := range s.Storages {
		if st.Space == ir.Arena {
			byKind[st.Elem] = append(byKind[st.Elem], ir.StorageID(i+1))
		}
	}
	place := func(id ir.StorageID) ir.Place { return s.Storage(id).Place }
	out := map[ir.StorageID][]ir.StorageID{}
	for _, ids := range byKind {
		slices.SortStableFunc(ids, func(a, b ir.StorageID) int { return cmp.Compare(place(a).From, place(b).From) })
		for i, a := range ids {
			for _, b := range ids[i+1:] {
				if !place(a).Meets(place(b)) {
					break // nor do those that begin later
				}
				out[a], out[b] = append(out[a], b), append(out[b], a)
			}
		}
	}
	return out
}
