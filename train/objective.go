package train

import (
	"github.com/reprise-ml/reprise/internal/catalog"
	detect "github.com/reprise-ml/reprise/tasks/detect/objective"
	obb "github.com/reprise-ml/reprise/tasks/obb/objective"
	pose "github.com/reprise-ml/reprise/tasks/pose/objective"
	segment "github.com/reprise-ml/reprise/tasks/segment/objective"
)

// Objective says how the objective of a fit is made. The zero value is the
// objective of the network's task.
type Objective = catalog.Construction

// ObjectiveConstructor makes the objective of a task from the options that the
// settings of the fit give, as New of the task's objective package does. It may
// change the options, gains and assigners among them, and put functions of its
// own into the fields of what New returns.
type ObjectiveConstructor interface {
	func(detect.Options) (*detect.Objective, error) |
		func(obb.Options) (*obb.Objective, error) |
		func(pose.Options) (*pose.Objective, error) |
		func(segment.Options) (*segment.Objective, error)
}

// NewObjective trains a network with another objective, as field Objective of
// Network. One that belongs to another task is an error when the fit starts.
//
// A function that is not a default one may leave gradients absent that those
// leave zero. The stages of the network therefore run natively from the start,
// and the summary, and -explain before it, say which function is the reason
// (guard G7); the optimizer is recorded as it would be. Options leave the
// functions alone and keep the recording.
//
// A checkpoint does not know of functions: a fit must be resumed by a program
// with the same ones, and the same changes of options.
func NewObjective[C ObjectiveConstructor](constructor C) Objective {
	return catalog.ConstructedBy(constructor)
}
