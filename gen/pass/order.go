package pass

import "github.com/reprise-ml/reprise/gen/ir"

// ancestry tells which launches of one program must have finished before
// another starts, whatever the lanes: those that it reads from or that read or
// write what it writes, and theirs.
type ancestry []bitset

// newAncestry counts storages as memory of their own.
func newAncestry(r *regions, ops []ir.Op) (ancestry, error) {
	u := newUses(r)
	u.apart = true
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

// all tells whether, in every program, each launch that touches a storage
// follows every launch that touches one of the others anyway, or comes so much
// later that waiting for it costs nothing.
func (s *succession) all(id ir.StorageID, others []ir.StorageID) bool {
	for p, used := range s.used {
		for _, i := range used[id] {
			for _, o := range others {
				for _, before := range used[o] {
					if !s.before[p][i].has(before) && i-before < farApart {
						return false
					}
				}
			}
		}
	}
	return true
}
