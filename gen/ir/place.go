package ir

import (
	"cmp"
	"slices"
)

// Place is where a storage lies in the arena at the sizes that the plan was made
// for: the elements from From to before To. At other sizes only the order of places
// counts, see Stage.Stack.
type Place struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Meets tells whether two places have an element in common.
func (p Place) Meets(o Place) bool { return p.From < o.To && o.From < p.To }

// Stack places the arena's storages of one element kind at the sizes of a call:
// each at the lowest multiple of unit, from base on, above all those that end where
// its place begins or before. Storages share memory only if their places meet.
// sizes and offsets have one number per storage of the stage, in the unit of base;
// the result is where the last one ends.
func (s *Stage) Stack(elem Element, base, unit int64, sizes, offsets []int64) (end int64) {
	var starts []int
	for i := range s.Storages {
		if st := &s.Storages[i]; st.Space == Arena && st.Elem == elem {
			starts = append(starts, i)
		}
	}
	ends := slices.Clone(starts)
	slices.SortStableFunc(starts, func(a, b int) int { return cmp.Compare(s.Storages[a].Place.From, s.Storages[b].Place.From) })
	slices.SortStableFunc(ends, func(a, b int) int { return cmp.Compare(s.Storages[a].Place.To, s.Storages[b].Place.To) })
	below, end := base, base
	for _, i := range starts {
		for len(ends) > 0 && s.Storages[ends[0]].Place.To <= s.Storages[i].Place.From {
			below = max(below, offsets[ends[0]]+sizes[ends[0]])
			ends = ends[1:]
		}
		offsets[i] = (below + unit - 1) / unit * unit
		end = max(end, offsets[i]+sizes[i])
	}
	return end
}
