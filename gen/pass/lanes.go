package pass

import (
	"github.com/reprise-ml/reprise/gen/ir"
)

// maxLanes is how many streams a program may use. The last endLanes of them are
// for launches that nothing else in the program needs: gradients of parameters. A
// lane keeps the order of its launches, so one of them would hold up what comes
// after it on another lane.
const maxLanes, endLanes = 10, 2

// lanes marks independent branches: launches that need not wait for one
// another get different lanes, and every launch lists the launches of other
// lanes that it must follow. Order in the list stays the order of issue.
func lanes(s *ir.Stage) error {
	r, shared := newRegions(s), sharing(s)
	for _, mode := range []ir.Mode{ir.Training, ir.Eval} {
		if err := assign(r, shared, s.Forward, mode); err != nil {
			return err
		}
	}
	for i := range s.Backward {
		if err := assign(r, shared, s.Backward[i].Ops, ir.Training); err != nil {
			return err
		}
	}
	return nil
}

// assign gives lanes to the operations of one mode. Operations that belong to
// both modes get theirs with the training mode; the evaluation program keeps
// them and orders its own operations around them.
func assign(r *regions, shared map[ir.StorageID][]ir.StorageID, ops []ir.Op, mode ir.Mode) error {
	a, end := newAssigner(r, shared), ends(r.stage, ops, mode)
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
			op.Lane = a.choose(before, end[i])
		}
		j := sibling(r.stage, ops, i)
		if j >= 0 {
			op.Lane = ops[j].Lane
		}
		op.Wait = merge(op.Wait, a.issue(i, op, before, j >= 0))
	}
	return nil
}

// sibling finds, for the weight gradient of a depthwise layer, the input gradient
// of the layer before it: on one lane, one kernel can make both from one reading
// of dY. -1: there is none.
func sibling(s *ir.Stage, ops []ir.Op, i int) int {
	w, ok := ops[i].Do.(*ir.Conv2dWeightGradient)
	if !ok || w.Groups == 1 || !s.Tensor(w.DWeight).Shape[1].Equal(ir.Const(1)) {
		return -1
	}
	for j := i - 1; j >= 0; j-- {
		if k, ok := ops[j].Do.(*ir.Conv2dInputGradient); ok && k.DY == w.DY {
			return j
		}
	}
	return -1
}

// ends finds the launches that write gradients of parameters which no later launch
// of the program touches.
func ends(s *ir.Stage, ops []ir.Op, mode ir.Mode) map[int]bool {
	end, used := map[int]bool{}, map[ir.StorageID]bool{}
	for i := len(ops) - 1; i >= 0; i-- {
		op := &ops[i]
		if op.Mode != ir.Always && op.Mode != mode {
			continue
		}
		end[i] = true
		for _, w := range op.Writes() {
			if s.StorageOf(w).Space != ir.ParameterGradient || used[s.Tensor(w).Storage] {
				end[i] = false
			}
		}
		op.Do.Operands(func(_ string, ref *ir.Ref, _ ir.Access) {
			if *ref != 0 {
				used[s.Tensor(*ref).Storage] = true
			}
		})
	}
	return end
}

// assigner follows the issue of one program.
type assigner struct {
	uses  *uses
	lane  map[int]int // lane of a launch
	tail  []int       // last launch of a lane, -1 before the first
	chain []int       // the same without siblings
	known map[int][]int

	// By estimate, in microseconds: when a lane is free, and when a launch ends.
	free    []float64
	end     map[int]float64
	nominal ir.Sizes
}

func newAssigner(r *regions, shared map[ir.StorageID][]ir.StorageID) *assigner {
	a := &assigner{uses: newUses(r, shared), lane: map[int]int{}, known: map[int][]int{}, end: map[int]float64{}, nominal: Nominal(r.stage)}
	for range maxLanes {
		a.tail = append(a.tail, -1)
		a.chain = append(a.chain, -1)
		a.free = append(a.free, 0)
	}
	return a
}

func (a *assigner) conflicts(i int, op *ir.Op) ([]int, error) { return a.uses.add(i, op) }

// cost estimates how long a launch takes: a fixed time and the traffic of its
// operands, both of a large GPU.
func (a *assigner) cost(op *ir.Op) float64 {
	elements := 0
	op.Do.Operands(func(_ string, ref *ir.Ref, _ ir.Access) {
		if *ref == 0 {
			return
		}
		if n, err := ir.Elements(a.uses.regions.stage.Tensor(*ref).Shape).Eval(a.nominal); err == nil {
			elements += n
		}
	})
	const fixed, elementsPerMicrosecond = 5, 5e5
	return fixed + float64(elements)/elementsPerMicrosecond
}

// ready is when all that a launch needs has finished.
func (a *assigner) ready(before []int) float64 {
	at := 0.0
	for _, b := range before {
		at = max(at, a.end[b])
	}
	return at
}

// choose picks the lane on which a launch can start first, by estimate; end tells
// whether it is one that nothing else in the program needs. Among
// equals it is one whose last launch this one needs, so that a chain stays on
// its lane, and else the one that becomes free last, which leaves the others to
// launches that cannot wait.
func (a *assigner) choose(before []int, end bool) int {
	ready, chained := a.ready(before), make([]bool, maxLanes)
	for _, b := range before {
		l := a.lane[b]
		chained[l] = chained[l] || a.chain[l] == b
	}
	first, last := 0, maxLanes-endLanes
	if end {
		first, last = last, maxLanes
	}
	best := first
	start := func(l int) float64 { return max(ready, a.free[l]) }
	for l := first + 1; l < last; l++ {
		switch {
		case start(l) != start(best):
			if start(l) < start(best) {
				best = l
			}
		case chained[l] != chained[best]:
			if chained[l] {
				best = l
			}
		case a.free[l] > a.free[best]:
			best = l
		}
	}
	return best
}

// issue records a launch and returns the launches of other lanes that it has
// to wait for: those that no earlier wait of its lane has covered. A sibling has
// next to nothing left to do and leaves the chain of its lane as it is.
func (a *assigner) issue(i int, op *ir.Op, before []int, sibling bool) []int {
	lane := op.Lane
	a.end[i] = max(a.ready(before), a.free[lane])
	if !sibling {
		a.end[i] += a.cost(op)
		a.chain[lane] = i
	}
	a.free[lane] = a.end[i]
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
