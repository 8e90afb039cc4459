package catalog

import (
	"fmt"

	detect "github.com/reprise-ml/reprise/tasks/detect/objective"
	obb "github.com/reprise-ml/reprise/tasks/obb/objective"
	pose "github.com/reprise-ml/reprise/tasks/pose/objective"
	segment "github.com/reprise-ml/reprise/tasks/segment/objective"
)

// Construction says how the objective of a fit is made from its options. The
// zero value is the New of the task.
type Construction struct{ by any }

// ConstructedBy takes a function with the type of the New of a task.
func ConstructedBy(constructor any) Construction { return Construction{constructor} }

// task names the task whose objectives a construction makes.
func (c Construction) task() string {
	switch c.by.(type) {
	case func(detect.Options) (*detect.Objective, error):
		return "detect"
	case func(obb.Options) (*obb.Objective, error):
		return "obb"
	case func(pose.Options) (*pose.Objective, error):
		return "pose"
	case func(segment.Options) (*segment.Objective, error):
		return "segment"
	}
	return ""
}

// construct makes the objective of a task, whose own constructor is usual.
func construct[O, P any](c Construction, task string, usual func(P) (*O, error), options P) (*O, error) {
	if c.by == nil {
		return usual(options)
	}
	constructor, fits := c.by.(func(P) (*O, error))
	switch {
	case !fits && c.task() == "":
		return nil, fmt.Errorf("the objective is made by %T, which makes none of a task; give a function with the type of New of tasks/%s/objective", c.by, task)
	case !fits:
		return nil, fmt.Errorf("the objective is one of task %s and the network is of task %s; make it with tasks/%s/objective", c.task(), task, task)
	case constructor == nil:
		return nil, fmt.Errorf("the constructor of the objective is nil; leave it out to have the one of task %s", task)
	}
	objective, err := constructor(options)
	if err != nil {
		return nil, fmt.Errorf("constructor of the objective: %w", err)
	}
	if objective == nil {
		return nil, fmt.Errorf("the constructor of the objective returned nil and no error; return what New of tasks/%s/objective gives", task)
	}
	return objective, nil
}
