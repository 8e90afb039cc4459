package catalog

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/tasks/obb/objective"
)

// Task fits the plans of a network and its native objective together as the
// settings say, and names the variant of the label rows that the task reads.
func Task[T device.Float](s *config.Settings, plans []*ir.Stage) (trainer.Task[T], data.RowFormat, error) {
	task := trainer.Task[T]{Name: s.Task, Scale: s.Model.Scale, Classes: s.Model.Classes, Plans: plans}
	switch s.Task {
	case "obb":
		o, err := objective.New(obbOptions(s))
		if err != nil {
			return task, nil, err
		}
		task.Objective = ObbObjective[T]{Objective: o, Classes: s.Model.Classes}
		return task, data.OrientedRows, nil
	}
	return task, nil, fmt.Errorf("task %s has no trainer yet; use obb", s.Task)
}

func obbOptions(s *config.Settings) objective.Options {
	o := objective.DefaultOptions()
	o.Gains = objective.Gains{Class: s.Loss.ClsGain, Rotated: s.Loss.BoxGain, RotatedL1: s.Loss.L1Gain, Angle: s.Loss.AngleGain}
	o.Form = objective.RotatedForm(s.Loss.RotatedIoUForm)
	return o
}
