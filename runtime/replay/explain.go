package replay

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Explanation tells, before the first step, what a fit will do with a stage.
type Explanation struct {
	Stage    string `json:"stage"`
	Recorded bool   `json:"recorded"` // full training batches will be replayed

	// Reason is why not, nil when Recorded.
	Reason *Reason `json:"reason,omitempty"`

	// Forward and Backward are the launches of a native pass, Backward with
	// every output in use; a replay is one launch each. Patterns is the number
	// of backward programs.
	Forward  int `json:"forward"`
	Backward int `json:"backward"`
	Patterns int `json:"patterns"`
}

// Explanations are those of all stages of a fit.
type Explanations []Explanation

// Explain looks at everything that the guards know before there is a call:
// options, accumulation, precision, devices, trainable parameters, the head,
// the objective and observers.
func (f *Fit) Explain() Explanations {
	var out Explanations
	for _, s := range f.Stages() {
		e := Explanation{
			Stage:    s.plan.Name,
			Forward:  len(device.Forward(ir.Training).Ops(s.plan)),
			Patterns: len(s.plan.Backward),
			Reason:   s.standing(),
		}
		if e.Patterns > 0 {
			e.Backward = len(s.plan.Backward[0].Ops)
		}
		e.Recorded = e.Reason == nil
		out = append(out, e)
	}
	return out
}

// standing is the first reason that holds whatever the call: of all guards
// but those that look at the call.
func (s *Stage) standing() *Reason {
	for _, g := range guards {
		if g.Scope == ForCall || g.Scope == ForStep {
			continue
		}
		if text := g.fails(s, nil); text != "" {
			return &Reason{Guard: g.ID, Scope: g.Scope, Text: text}
		}
	}
	return nil
}

// String prints the explanations as a table for people.
func (e Explanations) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "stage\trecorded\tforward\tbackward\tpatterns\twhy not")
	for _, x := range e {
		recorded, why := "yes", ""
		if x.Reason != nil {
			recorded, why = "no", fmt.Sprintf("%s (%s, %s)", x.Reason.Text, x.Reason.Guard, x.Reason.Scope)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\n", x.Stage, recorded, x.Forward, x.Backward, x.Patterns, why)
	}
	_ = t.Flush() // a strings.Builder does not fail
	return b.String()
}
