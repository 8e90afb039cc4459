package trainer

import (
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Task is what a fit needs to know of a task: its network and what is native.
type Task[T device.Float] struct {
	Name    string // such as obb
	Scale   string // letter of the compound scale
	Classes int

	// Plans are the stages of the network, in the order in which they run.
	Plans []*ir.Stage

	// CapturedBy names, by stage, the option that records it. A stage that is
	// not listed belongs to CaptureNetwork. CaptureFull records every stage.
	CapturedBy map[string]CaptureOption

	Objective Objective[T]

	// Metric makes a new accumulator of validation figures for one epoch.
	Metric func() Metric[T]
}

// CaptureOption is an option that records stages, as users know it.
type CaptureOption string

// The options that record stages.
const (
	CaptureNetwork      CaptureOption = "capture_network"
	CaptureSegmentHeads CaptureOption = "capture_segment_heads"
	CaptureOptimizer    CaptureOption = "capture_optimizer"
	CaptureFull         CaptureOption = "capture_network: full"
)

// Outputs are the network's outputs by name, flat and row-major. Outputs that
// exist in training only are missing in evaluation.
type Outputs[T device.Float] map[string][]T

// Objective is the native part of a step: assignment and losses.
type Objective[T device.Float] interface {
	// Loss evaluates a batch. alpha is the weight of the one-to-many branch.
	Loss(outputs Outputs[T], batch *data.Batch, alpha float64) (Loss[T], error)

	// Replaced names the part of the objective that is not the task's own, if
	// any; a recorded network then stays unused (guard G7).
	Replaced() (name string, replaced bool)
}

// Loss is what an objective says of one batch.
type Loss[T device.Float] struct {
	Total    float64
	Branches []Branch // one-to-many first
	Extra    []Term   // terms that belong to no branch

	// Cotangents are the derivatives of Total by the outputs, by name. One
	// that is missing is absent: the output took no part.
	Cotangents map[string][]T

	// Gradients are the derivatives of Total by the objective's own parameters,
	// by name; see Trained. One that is missing is absent.
	Gradients map[string][]T
}

// Branch is what the objective says of one head branch.
type Branch struct {
	Name      string // o2m or o2o
	Terms     []Term // before gains and blending
	Positives int
	Quality   float64    // sum of the weights of the positives
	Assigned  [][][2]int // per image: anchor and object of every positive
}

// Terms lists all terms for logs, those of a branch as branch_term.
func (l Loss[T]) Terms() []Term {
	var out []Term
	for _, b := range l.Branches {
		for _, t := range b.Terms {
			out = append(out, Term{b.Name + "_" + t.Name, t.Value})
		}
	}
	return append(out, l.Extra...)
}

// Term is one named number of a log.
type Term struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Metric collects validation figures over an epoch.
type Metric[T device.Float] interface {
	Add(outputs Outputs[T], batch *data.Batch) error
	Result() ([]Term, error)
}
