package replay

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Report is what a fit has done so far. Numbers of steps count training steps,
// which are replays only if all their passes were: forward, and backward if the
// objective used an output of the stage.
type Report struct {
	Device    string           `json:"device"`
	Precision device.Precision `json:"precision"`
	Stages    []StageReport    `json:"stages"`
	Warnings  []string         `json:"warnings,omitempty"`

	// LiveRecordings and Bytes are alive on the device now.
	LiveRecordings int64 `json:"liveRecordings"`
	Bytes          int64 `json:"bytes"`
	PeakBytes      int64 `json:"peakBytes"`
}

// StageReport is what one stage has done so far.
type StageReport struct {
	Name     string `json:"name"`
	Asked    bool   `json:"asked"`    // for replay
	Recorded int    `json:"recorded"` // signatures recorded, forward and backward together
	Replayed int    `json:"replayed"` // steps
	// ForwardOnly is how many of Replayed had no backward pass, because the
	// objective used no output of the stage or the loss was not finite.
	ForwardOnly int `json:"forwardOnly"`
	Native      int `json:"native"`  // steps and evaluations
	Partial     int `json:"partial"` // of Native: partial batches

	Reasons []ReasonCount `json:"reasons,omitempty"` // of Native, in guard order

	KernelLaunches int64 `json:"kernelLaunches"` // issued one by one
	GraphLaunches  int64 `json:"graphLaunches"`  // replays
}

// ReasonCount is how often a reason made a call native.
type ReasonCount struct {
	Reason
	Calls int `json:"calls"`
}

// counts is what a stage counts.
type counts struct {
	recorded, replayed int
	backward           int // of replayed: with a backward pass
	reasons            []ReasonCount
	kernels, graphs    int64
	steps              int // training steps
}

func (c *counts) step(reason *Reason) {
	c.steps++
	if reason == nil {
		c.replayed++
		return
	}
	c.native(reason)
}

func (c *counts) native(reason *Reason) {
	for i := range c.reasons {
		if c.reasons[i].Reason == *reason {
			c.reasons[i].Calls++
			return
		}
	}
	c.reasons = append(c.reasons, ReasonCount{Reason: *reason, Calls: 1})
}

// finish counts the backward pass of a step whose forward pass was a replay. With
// a reason it was native, and with it the step.
func (c *counts) finish(reason *Reason) {
	if reason == nil {
		c.backward++
		return
	}
	c.replayed--
	c.native(reason)
}

func (c *counts) launched(before, after device.Counters) {
	c.kernels += after.KernelLaunches - before.KernelLaunches
	c.graphs += after.GraphLaunches - before.GraphLaunches
}

// Report tells what the fit has done so far, also after Close.
func (f *Fit) Report() Report {
	info, now := f.dev.Info(), f.dev.Counters()
	r := Report{
		Device: info.Name, Precision: f.settings.Precision, Warnings: slices.Clone(f.warnings),
		LiveRecordings: now.Recordings, Bytes: now.Bytes, PeakBytes: now.PeakBytes,
	}
	if !f.closed {
		r.Warnings = append(r.Warnings, f.unusedWishes()...)
	}
	for _, s := range f.stages {
		r.Stages = append(r.Stages, s.report())
	}
	return r
}

func (s *Stage) report() StageReport {
	r := StageReport{
		Name: s.plan.Name, Asked: s.options.Capture, Recorded: s.counts.recorded, Replayed: s.counts.replayed,
		ForwardOnly: s.counts.replayed - s.counts.backward,
		Reasons:     slices.Clone(s.counts.reasons), KernelLaunches: s.counts.kernels, GraphLaunches: s.counts.graphs,
	}
	for _, reason := range r.Reasons {
		r.Native += reason.Calls
		if reason.Text == reasonPartialBatch {
			r.Partial += reason.Calls
		}
	}
	slices.SortStableFunc(r.Reasons, func(a, b ReasonCount) int { return guardOrder(a.Guard) - guardOrder(b.Guard) })
	return r
}

func guardOrder(id string) int {
	return slices.IndexFunc(guards, func(g Guard) bool { return g.ID == id })
}

// unusedWishes warns of stages for which replay was asked but never happened,
// unless a failure has been reported already.
func (f *Fit) unusedWishes() []string {
	var warnings []string
	for _, s := range f.stages {
		if !s.options.Capture || s.counts.steps == 0 || s.counts.replayed > 0 || f.failure != "" {
			continue
		}
		var why []string
		for _, r := range s.report().Reasons {
			if r.Text != reasonEvaluation {
				why = append(why, r.Text)
			}
		}
		warnings = append(warnings, fmt.Sprintf("%s was asked for but nothing of stage %s was replayed: %s", s.optionName(), s.plan.Name, strings.Join(why, ", ")))
	}
	return warnings
}

// String prints the report as a table for people.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fit on %s, %s\n", r.Device, r.Precision)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "stage\tasked\trecorded\treplayed\tnative\tkernel launches\tgraph launches\treasons")
	for _, s := range r.Stages {
		var reasons []string
		for _, reason := range s.Reasons {
			reasons = append(reasons, fmt.Sprintf("%s %d", reason.Text, reason.Calls))
		}
		if s.ForwardOnly > 0 {
			reasons = append(reasons, fmt.Sprintf("replayed forward only %d", s.ForwardOnly))
		}
		asked := map[bool]string{false: "no", true: "yes"}[s.Asked]
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", s.Name, asked, s.Recorded, s.Replayed, s.Native, s.KernelLaunches, s.GraphLaunches, strings.Join(reasons, ", "))
	}
	w.Flush() // a strings.Builder takes everything
	for _, warning := range r.Warnings {
		fmt.Fprintln(&b, "warning: "+warning)
	}
	return b.String()
}
