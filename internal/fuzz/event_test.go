package fuzz

import "github.com/reprise-ml/reprise/runtime/replay"

// event is a step of a fit with what happens before it or in it.
type event struct {
	images, height, width int
	evaluate              bool
	absent                bool // no cotangent for the optional output
	keep                  bool // gradients add up with those of the next step
	freeze                int  // parameter to turn, from 1
	observe               bool // turn the observer
	objective, head       bool // replace the objective; change the head
	between               bool // changes happen between the passes, not before them
}

func eventOf(c *choices) event {
	e := event{images: 2, height: 16, width: 16}
	switch c.below(10) {
	case 0:
		e.images = 1
	case 1:
		e.height, e.width = 24, 8+8*c.below(3)
	case 2:
		e.evaluate = true
	case 3:
		e.absent = true
	case 4:
		if c.below(4) == 0 {
			e.freeze = 1 + c.below(8)
		}
	case 5:
		e.observe = true
	case 6:
		which := c.below(4)
		e.objective, e.head = which == 0, which == 1
	case 7:
		e.between = true
		switch c.below(4) {
		case 0:
			e.freeze = 1 + c.below(8)
		case 1:
			e.observe = true
		case 2:
			e.objective = true
		}
	case 8:
		e.keep = true
	}
	return e
}

// replays is the key of calls that no guard kept from being replayed.
const replays = "replayed"

// expectation tells by the recording contract alone, section 4, which guard each
// step fails. It knows nothing of how the guards are written.
type expectation struct {
	calls map[string]int // by guard, and of replays

	adopted                              bool
	height, width                        int // of the first full batch
	retrained, head, objective, observed bool
}

func newExpectation() *expectation { return &expectation{calls: map[string]int{}} }

func (x *expectation) add(e event) {
	if !e.between {
		x.change(e)
	}
	if e.evaluate {
		x.calls["G9"]++
		return
	}
	if !x.adopted && e.images == 2 {
		x.adopted, x.height, x.width = true, e.height, e.width
	}
	guard := x.guard(e)
	if e.between {
		x.change(e)
	}
	if guard == replays {
		guard = x.guard(e)
	}
	x.calls[guard]++
}

func (x *expectation) change(e event) {
	x.retrained = x.retrained || e.freeze > 0 && x.adopted
	x.head = x.head || e.head
	x.objective = x.objective || e.objective
	x.observed = x.observed != e.observe
}

// guard is the first that fails now.
func (x *expectation) guard(e event) string {
	switch {
	case !x.adopted || e.images != 2 || e.height != x.height || e.width != x.width:
		return "G4"
	case x.retrained:
		return "G5"
	case x.head:
		return "G6"
	case x.objective:
		return "G7"
	case x.observed:
		return "G8"
	}
	return replays
}

// callsByGuard is what the report of a fit tells.
func callsByGuard(fit *replay.Fit) map[string]int {
	report := fit.Report().Stages[0]
	calls := map[string]int{}
	if report.Replayed > 0 {
		calls[replays] = report.Replayed
	}
	for _, r := range report.Reasons {
		calls[r.Guard] += r.Calls
	}
	return calls
}
