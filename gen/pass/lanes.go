package pass

import (
	"github.com/reprise-ml/reprise/gen/ir"
)

// maxLanes is how many streams a program may use.
const maxLanes = 4

// lanes marks independent branches: launches that need not wait for one
// another get different lanes, and every launch lists the launches of other
// lanes that it must follow. Order in the list stays the order of issue.
func lanes(s *ir.Stage) error {
	r := newRegions(s)
	for _, mode := range []ir.Mode{ir.Training, ir.Eval} {
		if err := assign(r, s.Forward, mode); err != nil {
			return err
		}
	}
	for i := range s.Backward {
		if err := assign(r, s.Backward[i].Ops, ir.Training); err != nil {
			return err
		}
	}
	return nil
}

// assign gives lanes to the operations of one mode. Operations that belong to
// both modes get theirs with the training mode; the evaluation program keeps
// them and orders its own operations around them.
func assign(r *regions, ops []ir.Op, mode ir.Mode) error {
	a := newAssigner(r)
	for i := range ops {
		op := &ops[i]
		if op.Mode != ir.Always && op.Mode != mode {
			continue
		}
		before, err := a.conflicts(i, op)
		if err != nil {
			return err
		}
		if mode == ir.Training || op.Mode == ir.Eval {
			op.Lane = a.choose(before)
		}
		op.Wait = merge(op.Wait, a.issue(i, op.Lane, before))
	}
	return nil
}

// assigner follows the issue of one program.
type assigner struct {
	uses  *uses
	lane  map[int]int // lane of a launch
	tail  []int       // last launch of a lane, -1 before the first
	known map[int][]int
}

func newAssigner(r *regions) *assigner {
	a := &assigner{uses: newUses(r), lane: map[int]int{}, known: map[int][]int{}}
	for range maxLanes {
		a.tail = append(a.tail, -1)
	}
	return a
}

func (a *assigner) conflicts(i int, op *ir.Op) ([]int, error) { return a.uses.add(i, op) }

// choose picks the lane whose last launch is the latest that this one needs,
// so that a chain stays on its lane; a launch that starts a branch takes the
// lane that has been idle longest.
func (a *assigner) choose(before []int) int {
	best := -1
	for _, b := range before {
		if a.tail[a.lane[b]] == b && b > best {
			best = b
		}
	}
	if best >= 0 {
		return a.lane[best]
	}
	if len(before) == 0 {
		return 0
	}
	idle := 0
	for l := range a.tail {
		if a.tail[l] < a.tail[idle] {
			idle = l
		}
	}
	return idle
}

// issue records a launch and returns the launches of other lanes that it has
// to wait for: those that no earlier wait of its lane has covered.
func (a *assigner) issue(i, lane int, before []int) []int {
	seen := make([]int, maxLanes)
	for l := range seen {
		seen[l] = -1
	}
	if t := a.tail[lane]; t >= 0 {
		copy(seen, a.known[t])
	}
	var wait []int
	for n := len(before) - 1; n >= 0; n-- { // latest first: it covers most
		b := before[n]
		if l := a.lane[b]; l != lane && seen[l] < b {
			wait = append([]int{b}, wait...)
			for k, v := range a.known[b] {
				seen[k] = max(seen[k], v)
			}
		}
	}
	seen[lane] = i
	a.lane[i], a.tail[lane], a.known[i] = lane, i, seen
	return wait
}

// merge joins two sorted lists without repeats.
func merge(a, b []int) []int {
	var out []int
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || b[0] < a[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return out
}
