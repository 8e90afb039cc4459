package trainer

import (
	"fmt"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// maxSkipped is how many steps in a row may have a loss that is not finite
// before the fit gives up.
const maxSkipped = 10

// step trains on one micro-batch.
func (f *Fit[T]) step(batch *data.Batch) error {
	outputs, err := f.learner.Forward(images(batch))
	if err != nil {
		return err
	}
	loss, err := f.learner.Loss(outputs, batch, f.alpha)
	if err != nil {
		return err
	}
	if err := f.log.note(f.at, loss.Total, loss.Terms()); err != nil {
		return err
	}
	if err := f.backward(loss); err != nil {
		return err
	}
	outcome, _, err := f.learner.Update()
	if err != nil {
		return err
	}
	if outcome.Overflow {
		f.overflows++
	}
	if f.options.Progress != nil {
		f.options.Progress.Step(batch.N, loss.Total)
	}
	return nil
}

// backward runs the backward pass. A loss that is not finite has none: its
// micro-batch adds nothing, natively and replayed.
func (f *Fit[T]) backward(loss Loss[T]) error {
	if loss.Finite() {
		f.skipped = 0
		return f.learner.Backward(loss)
	}
	f.skipped++
	f.warn(fmt.Sprintf("epoch %d, batch %d: the loss is %g; the step is skipped", f.at.Epoch, f.at.Batch, loss.Total))
	if f.skipped >= maxSkipped {
		return fmt.Errorf("the loss was not finite for %d steps in a row; lower optim.lr or raise optim.warmup_epochs and start from the last good checkpoint", f.skipped)
	}
	f.learner.Skip()
	return nil
}

func images(batch *data.Batch) replay.Source {
	return replay.Images(batch.Images, batch.N, batch.H, batch.W).WithJitter(batch.Jitter)
}
