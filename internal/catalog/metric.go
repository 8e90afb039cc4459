package catalog

import (
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/eval"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
)

// metricOf makes the validation figures of a task for one epoch (YOLO26
// specification, data and evaluation section 9.5).
func metricOf[T device.Float](s *config.Settings) func() trainer.Metric[T] {
	classes := s.Model.Classes
	return func() trainer.Metric[T] {
		switch s.Task {
		case "obb":
			return eval.NewOrientedMetric[T](classes)
		case "pose":
			return eval.NewKeypointMetric[T](classes, s.Model.Keypoints)
		case "segment":
			return eval.NewMaskMetric[T](classes)
		}
		return eval.NewBoxMetric[T](classes)
	}
}
