package pass

import "github.com/reprise-ml/reprise/gen/ir"

// ancestry tells which launches of one program must have finished before
// another starts, whatever the lanes: those that it reads from or that read or
// write what it writes, and theirs.
type ancestry []bitset

// newAncestry counts storages as memory of their own.
func newAncestry(r *regions, ops []ir.Op) (ancestry, error) {
	u := newUses(r, nil)
	a := make(ancestry, len(ops))
	for i := range ops {
		before, err := u.add(i, &ops[i])
		if err != nil {
			return nil, err
		}
		a[i] = newBitset(len(ops))
		for _, b := range before {
			a[i].set(b)
			a[i].add(a[b])
		}
	}
	return a, nil
}

func (b bitset) set(i int) { b[i/64] |= 1 << (i % 64) }

func (b bitset) has(i int) bool { return b[i/64]>>(i%64)&1 == 1 }

// farApart is how many launches lie between two that need no order for one more
// wait between them to cost nothing: the earlier has long finished.
const farApart = 64

// succession answers whether the uses of one storage follow those of another.
type succession struct {
	before []ancestry               // by program
	used   []map[ir.StorageID][]int // launches that touch a storage, by program
}

func newSuccession(s *ir.Stage) (*succession, error) {
	r := newRegions(s)
	out := &succession{}
	for _, ops := range programs(s) {
		a, err := newAncestry(r, ops)
		if err != nil {
			return nil, err
		}
		used := map[ir.StorageID][]int{}
		for i := range ops {
			ops[i].Do.Operands(func(_ string, ref *ir.Ref, _ ir.Access) {
				if *ref != 0 {
					id := s.Tensor(*ref).Storage
					used[id] = append(used[id], i)
				}
			})
		}
		out.before, out.used = append(out.before, a), append(out.used, used)
	}
	return out, nil
}

// follows tells whether, in every program, each launch that touches a storage
// follows every launch that touches an earlier one anyway, or comes so much later
// that waiting for it costs nothing. A launch in place touches both.
func (s *succession) follows(later, earlier ir.StorageID) bool {
	for p, used := range s.used {
		for _, i := range used[later] {
			for _, before := range used[earlier] {
				if i != before && !s.before[p][i].has(before) && i-before < farApart {
					return false
				}
			}
		}
	}
	return true
}

// apart tells whether an item may have the memory of another after it.
func (s *succession) apart(earlier, later item) bool {
	if !earlier.life.before(later.life) {
		return false
	}
	for _, e := range earlier.storages {
		for _, l := range later.storages {
			if !s.follows(l, e) {
				return false
			}
		}
	}
	return true
}
