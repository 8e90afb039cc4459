package pass

import (
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
)

// span is a range of launches, from the first to the last use of a storage.
type span struct{ first, last int }

// unused lies before and after every span.
var unused = span{math.MaxInt, -1}

// life holds the span of a storage in each course of a step: the forward program,
// followed by one of the backward programs.
type life []span

// before tells whether a storage has been used for the last time before another
// is used, in every course.
func (l life) before(o life) bool {
	for course := range l {
		if l[course].last >= o[course].first {
			return false
		}
	}
	return true
}

// with is the life of two storages one after the other.
func (l life) with(o life) life {
	both := make(life, len(l))
	for course := range l {
		both[course] = span{min(l[course].first, o[course].first), max(l[course].last, o[course].last)}
	}
	return both
}

// length is how many launches the longest span lasts.
func (l life) length() int {
	longest := 0
	for _, s := range l {
		longest = max(longest, s.last-s.first)
	}
	return longest
}

// lifetimes gives the lives of the storages in the arena. Launches are counted from
// the first of the forward program on.
func lifetimes(s *ir.Stage) map[ir.StorageID]life {
	lives, courses := map[ir.StorageID]life{}, max(len(s.Backward), 1)
	note := func(ops []ir.Op, from int, courses ...int) {
		for i := range ops {
			ops[i].Do.Operands(func(_ string, ref *ir.Ref, _ ir.Access) {
				if *ref == 0 || s.StorageOf(*ref).Space != ir.Arena {
					return
				}
				id := s.Tensor(*ref).Storage
				for _, c := range courses {
					at := lives[id][c]
					lives[id][c] = span{min(at.first, from+i), max(at.last, from+i)}
				}
			})
		}
	}
	all := make([]int, courses)
	for c := range all {
		all[c] = c
	}
	for i, st := range s.Storages {
		if st.Space == ir.Arena {
			l := make(life, courses)
			for c := range l {
				l[c] = unused
			}
			lives[ir.StorageID(i+1)] = l
		}
	}
	note(s.Forward, 0, all...)
	for c, b := range s.Backward {
		note(b.Ops, len(s.Forward), c)
	}
	return lives
}
