package trainer

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/checkpoint"
)

// loadWeights starts the model from the moving average in a checkpoint: every
// entry whose name and shape fit, such as all but the class outputs of a network
// for another number of classes. What did not fit is logged. Values that the
// precision of this fit does not hold are rounded.
func (f *Fit[T]) loadWeights(path string) error {
	s, err := checkpoint.Load(path)
	if err != nil {
		return fmt.Errorf("run.weights: %w", err)
	}
	tensors, err := s.Evaluation(true)
	if err != nil {
		return fmt.Errorf("run.weights: %s: %w", path, err)
	}
	entries, err := f.learner.memory.entries()
	if err != nil {
		return err
	}
	report, err := checkpoint.Transfer(entries, checkpoint.Rounded[T](tensors))
	if err != nil {
		return fmt.Errorf("run.weights: %s: %w", path, err)
	}
	if err := f.learner.memory.store(entries); err != nil {
		return err
	}
	if f.options.Log != nil {
		fmt.Fprintf(f.options.Log, "weights of %s: %s\n", path, report)
	}
	return f.learner.StartAverage(f.options.Average)
}
