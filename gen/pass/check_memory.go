package pass

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// checkPlaces proves that every storage in use has a place as large as itself, and
// that the arena keeps lives apart.
func checkPlaces(s *ir.Stage, shared map[ir.StorageID][]ir.StorageID) error {
	lives, nominal := lifetimes(s), Nominal(s)
	for i := range s.Storages {
		id := ir.StorageID(i + 1)
		st := s.Storage(id)
		if st.Space != ir.Arena {
			continue
		}
		size, err := st.Size.Eval(nominal)
		if err != nil {
			return err
		}
		if st.Place.From < 0 || st.Place.To-st.Place.From < max(size, 1) {
			return fmt.Errorf("%s has %d elements and %d in the arena", st.Name, size, st.Place.To-st.Place.From)
		}
		for _, other := range shared[id] {
			if other < id && !lives[id].before(lives[other]) && !lives[other].before(lives[id]) && !shareInPlace(s, lives, id, other) {
				return fmt.Errorf("%s and %s are alive together in one place of the arena", s.Storage(other).Name, st.Name)
			}
		}
	}
	return nil
}

// shareInPlace tells whether two storages lie in one place because a launch writes
// one of them over the other.
func shareInPlace(s *ir.Stage, lives map[ir.StorageID]life, a, b ir.StorageID) bool {
	return s.Storage(a).Place == s.Storage(b).Place && (takesOver(s, lives, a, b) || takesOver(s, lives, b, a))
}

// checkOrder proves that lanes and waits keep the order of all launches of a program
// of which one writes memory that the other touches.
func checkOrder(r *regions, shared map[ir.StorageID][]ir.StorageID) error {
	s := r.stage
	for _, mode := range []ir.Mode{ir.Training, ir.Eval} {
		if err := ordered(r, shared, s.Forward, mode); err != nil {
			return err
		}
	}
	for _, b := range s.Backward {
		if err := ordered(r, shared, b.Ops, ir.Training); err != nil {
			return fmt.Errorf("backward %v: %w", b.Present, err)
		}
	}
	return nil
}

// ordered is checkOrder for the operations of one mode.
func ordered(r *regions, shared map[ir.StorageID][]ir.StorageID, ops []ir.Op, mode ir.Mode) error {
	u, done, tail := newUses(r, shared), make([]bitset, len(ops)), map[int]int{}
	for i := range ops {
		op := &ops[i]
		if op.Mode != ir.Always && op.Mode != mode {
			continue
		}
		done[i] = newBitset(len(ops))
		for _, w := range op.Wait {
			if done[w] != nil { // in this mode
				done[i].add(done[w])
			}
		}
		if t, ok := tail[op.Lane]; ok {
			done[i].add(done[t])
		}
		before, err := u.add(i, op)
		if err != nil {
			return err
		}
		for _, b := range before {
			if !done[i].has(b) {
				return fmt.Errorf("%s: %s does not wait for %s, with which it shares memory", op.Pos, op.Name, ops[b].Name)
			}
		}
		done[i].set(i)
		tail[op.Lane] = i
	}
	return nil
}
