package catalog

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	detect "github.com/reprise-ml/reprise/tasks/detect/objective"
	obb "github.com/reprise-ml/reprise/tasks/obb/objective"
	pose "github.com/reprise-ml/reprise/tasks/pose/objective"
	segment "github.com/reprise-ml/reprise/tasks/segment/objective"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Task fits the plans of a network and its native objective together as the
// settings say. Plans are in the order in which the stages run.
func Task[T device.Float](s *config.Settings, plans []*ir.Stage) (trainer.Task[T], error) {
	return TaskWith[T](s, plans, Construction{})
}

// TaskWith is Task with an objective that may not be the task's own; what it is
// decides guard G7.
func TaskWith[T device.Float](s *config.Settings, plans []*ir.Stage, c Construction) (trainer.Task[T], error) {
	task := trainer.Task[T]{Name: s.Task, Scale: s.Model.Scale, Classes: s.Model.Classes, Plans: plans}
	var err error
	switch s.Task {
	case "detect":
		var o *detect.Objective
		o, err = construct(c, s.Task, detect.New, detectionOptions(s))
		task.Objective = DetectObjective[T]{Objective: o, Classes: s.Model.Classes}
	case "obb":
		var o *obb.Objective
		o, err = construct(c, s.Task, obb.New, obbOptions(s))
		task.Objective = ObbObjective[T]{Objective: o, Classes: s.Model.Classes}
	case "pose":
		var o *pose.Objective
		o, err = construct(c, s.Task, pose.New, poseOptions(s))
		task.Objective, task.CapturedBy = PoseObjective[T]{Objective: o, Classes: s.Model.Classes}, poseCaptured
	case "segment":
		var o *segment.Objective
		o, err = construct(c, s.Task, segment.New, segmentOptions(s))
		task.Objective, task.CapturedBy = SegmentObjective[T]{Objective: o, Classes: s.Model.Classes}, segmentCaptured
	default:
		err = fmt.Errorf("task is %q; use detect, obb, pose or segment", s.Task)
	}
	if err != nil {
		return trainer.Task[T]{}, err
	}
	task.Metric = metricOf[T](s)
	return task, nil
}

func detectionOptions(s *config.Settings) yolo26.Options {
	o := yolo26.DefaultOptions()
	o.Gains = yolo26.Gains{Box: s.Loss.BoxGain, Class: s.Loss.ClsGain, L1: s.Loss.L1Gain}
	return o
}

func obbOptions(s *config.Settings) obb.Options {
	o := obb.DefaultOptions()
	o.Gains = obb.Gains{Class: s.Loss.ClsGain, Rotated: s.Loss.BoxGain, RotatedL1: s.Loss.L1Gain, Angle: s.Loss.AngleGain}
	o.Form = obb.RotatedForm(s.Loss.RotatedIoUForm)
	return o
}

func poseOptions(s *config.Settings) pose.Options {
	o := pose.DefaultOptions(s.Model.Keypoints)
	o.Options = detectionOptions(s)
	o.KeypointGain, o.SimilarityGain = s.Loss.KeypointGain, s.Loss.OKSGain
	o.Form = pose.LikelihoodForm(s.Loss.KeypointLoss)
	return o
}

func segmentOptions(s *config.Settings) segment.Options {
	return segment.Options{Options: detectionOptions(s), MaskGain: s.Loss.MaskGain, SemanticGain: s.Loss.SemanticGain}
}
