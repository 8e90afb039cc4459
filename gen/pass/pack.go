package pass

import (
	"cmp"
	"slices"

	"github.com/reprise-ml/reprise/gen/ir"
)

// item is what has one place in the arena: a storage, or two one after the other.
type item struct {
	storages []ir.StorageID
	size     int // elements at nominal sizes
	growth   int // how many times as large it is at twice the height and width
	life     life
}

// packing looks for places of items of which some must not share memory.
type packing struct {
	items []item
	clash []bitset // by item: those that it must share nothing with
}

func newPacking(items []item, after *succession) *packing {
	p := &packing{items: items, clash: make([]bitset, len(items))}
	for i := range items {
		p.clash[i] = newBitset(len(items))
	}
	for i, a := range items {
		for j, b := range items[:i] {
			if !after.apart(a, b) && !after.apart(b, a) {
				p.clash[i].set(j)
				p.clash[j].set(i)
			}
		}
	}
	return p
}

// best tries several orders and gives where each item begins in the packing that
// ends first. What grows more than in proportion to the pixels comes first, to lie
// at the bottom, so that at larger sizes all that lies above it moves up as one.
func (p *packing) best() (from []int) {
	growth := func(a, b int) int { return cmp.Compare(p.items[b].growth, p.items[a].growth) }
	size := func(a, b int) int { return cmp.Compare(p.items[b].size, p.items[a].size) }
	length := func(a, b int) int { return cmp.Compare(p.items[b].life.length(), p.items[a].life.length()) }
	orders := []func(a, b int) int{
		func(a, b int) int { return cmp.Or(growth(a, b), size(a, b)) },
		func(a, b int) int { return cmp.Or(growth(a, b), size(a, b), length(a, b)) },
		func(a, b int) int { return cmp.Or(growth(a, b), size(a, b), -length(a, b)) },
	}
	end := 0
	for _, compare := range orders {
		order := make([]int, len(p.items))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, compare)
		if f, e := p.place(order); from == nil || e < end {
			from, end = f, e
		}
	}
	return from
}

// place gives each item in turn the gap between those placed before, of the ones
// that it clashes with, which it fits best; and tells where the last one ends.
func (p *packing) place(order []int) (from []int, end int) {
	from = make([]int, len(p.items))
	placed := make([]int, 0, len(order)) // by from
	for _, i := range order {
		size, at, least, top := p.items[i].size, -1, 0, 0
		for _, j := range placed {
			if !p.clash[i].has(j) {
				continue
			}
			if gap := from[j] - top; gap >= size && (at < 0 || gap < least) {
				at, least = top, gap
			}
			top = max(top, from[j]+p.items[j].size)
		}
		if at < 0 {
			at = top
		}
		from[i], end = at, max(end, at+size)
		next, _ := slices.BinarySearchFunc(placed, at, func(j, at int) int { return cmp.Compare(from[j], at) })
		placed = slices.Insert(placed, next, i)
	}
	return from, end
}
