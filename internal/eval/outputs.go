package eval

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Names of the outputs that metrics read.
const (
	outputClass       = "o2o_cls"
	outputBox         = "o2o_box"
	outputAngle       = "o2o_angle"
	outputCoefficient = "o2o_coeff"
	outputKeypoint    = "o2o_keypoint"
	outputPrototypes  = "prototypes"
)

// images cuts the one-to-one branch of a batch by image. The outputs named
// besides class and box must be there.
func images[T device.Float](outputs trainer.Outputs[T], batch *data.Batch, classes int, also ...string) ([]decode.Image[T], error) {
	for _, name := range append([]string{outputClass, outputBox}, also...) {
		if len(outputs[name]) == 0 {
			return nil, fmt.Errorf("metric: the network has no output %s; validate with the task that the network was built for", name)
		}
	}
	if len(batch.Targets) != batch.N {
		return nil, fmt.Errorf("metric: %d targets for a batch of %d images; give one per image", len(batch.Targets), batch.N)
	}
	list, err := decode.Branch[T]{
		Class:       outputs[outputClass],
		Box:         outputs[outputBox],
		Angle:       outputs[outputAngle],
		Coefficient: outputs[outputCoefficient],
		Keypoint:    outputs[outputKeypoint],
	}.Images(objective.Size{Batch: batch.N, Height: batch.H, Width: batch.W, Classes: classes})
	if err != nil {
		return nil, fmt.Errorf("metric: %w", err)
	}
	return list, nil
}

// inImage names the image of a batch that an error is about.
func inImage(batch *data.Batch, image int, err error) error {
	if err == nil {
		return nil
	}
	if image < len(batch.Paths) {
		return fmt.Errorf("%s: %w", batch.Paths[image], err)
	}
	return fmt.Errorf("image %d: %w", image, err)
}

// positive are the leading rows with a score above 0: rows are ranked, and the
// rest detect nothing.
func positive[D any](rows []D, score func(D) float64) []D {
	for i, row := range rows {
		if !(score(row) > 0) {
			return rows[:i]
		}
	}
	return rows
}

// oneEach reports a target that lacks one of its instances' parts.
func oneEach(target data.Target, parts int, name string) error {
	if parts != target.Len() {
		return fmt.Errorf("%d %s for %d objects; the metric needs one for each, so label them or validate another task", parts, name, target.Len())
	}
	return nil
}
