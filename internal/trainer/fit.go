package trainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// Fit is one training run.
type Fit[T device.Float] struct {
	task    Task[T]
	data    Data
	options Options

	replay  *replay.Fit
	learner *Learner[T]

	at      data.Position // the next batch; one past the last while an epoch has not ended
	alpha   float64
	skipped int // steps without backward pass, in a row
	log     *lossLog

	overflows int // optimizer steps without an update, since the fit was opened
}

// New prepares a fit on a device; the device stays the caller's. With
// Options.Resume the state is that of the checkpoint before anything runs.
func New[T device.Float](dev device.Device, task Task[T], d Data, options Options) (*Fit[T], error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	if names := d.Train.Dataset().Names; len(names) != task.Classes {
		return nil, fmt.Errorf("the data set names %d classes and the network has %d; give the data that the network was built for", len(names), task.Classes)
	}
	f := &Fit[T]{task: task, data: d, options: options}
	if err := f.open(dev); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *Fit[T]) open(dev device.Device) error {
	var err error
	f.replay, err = replay.NewFit(dev, replay.Settings{
		Precision:  precisionOf[T](f.options.Precision),
		Strict:     f.options.Strict,
		Accumulate: f.options.Accumulate, // the largest, whatever a warm-up begins with (guard G2)
		Batch:      min(f.options.BatchSize, f.data.Train.Images()),
		Seed:       f.options.TrainerSeed,
		Warn:       f.warn,
	})
	if err != nil {
		return err
	}
	if f.learner, err = NewLearner(f.replay, f.task, f.options, f.rate()); err != nil {
		return err
	}
	if err := f.learner.placeOptimizer(); err != nil {
		return err
	}
	if f.options.Weights != "" {
		if err := f.loadWeights(f.options.Weights); err != nil {
			return err
		}
	}
	if f.options.Resume != "" {
		if err := f.resume(f.options.Resume); err != nil {
			return err
		}
	}
	f.log, err = openLossLog(f.options.Dir, f.done())
	return err
}

// rate is the complete learning-rate schedule of the fit.
func (f *Fit[T]) rate() optim.LearningRateOptions {
	rate := f.options.Rate
	rate.MaxEpochs, rate.BatchesPerEpoch = f.options.MaxEpochs, f.data.Train.Batches()
	rate.Accumulate, rate.AccumulateWarmupEpochs = f.options.Accumulate, f.options.AccumulateWarmupEpochs
	return rate
}

// done is the number of micro-batches that the fit has behind it.
func (f *Fit[T]) done() int { return f.at.Epoch*f.data.Train.Batches() + f.at.Batch }

// precisionOf is the precision of a fit whose objective computes in T: float64
// throughout, or what was asked for beside FP32.
func precisionOf[T device.Float](asked device.Precision) device.Precision {
	if _, double := any(T(0)).(float64); double {
		return device.Float64
	}
	return cmp.Or(asked, device.FP32)
}

func (f *Fit[T]) warn(warning string) {
	if f.options.Log != nil {
		fmt.Fprintln(f.options.Log, "warning:", warning)
	}
}

// Run trains from where the fit stands to the last epoch. When the context
// ends, or StopAfter is reached, it saves a checkpoint first; a cancelled
// context is returned as its error.
func (f *Fit[T]) Run(ctx context.Context) error {
	if f.at.Batch == f.data.Train.Batches() { // resumed
		f.begin()
		if err := f.endEpoch(ctx); err != nil {
			return f.stop(ctx, err)
		}
	}
	begun := false
	for batch, err := range f.data.Train.Stream(ctx, f.at, f.options.MaxEpochs) {
		if err != nil {
			return f.stop(ctx, err)
		}
		if f.at.Batch == 0 || !begun {
			f.begin()
			begun = true
		}
		if err := f.step(batch); err != nil {
			return fmt.Errorf("epoch %d, batch %d: %w", batch.Epoch, batch.Position.Batch, err)
		}
		f.at = data.Position{Epoch: batch.Epoch, Batch: batch.Position.Batch + 1}
		if f.at.Batch == f.data.Train.Batches() {
			if err := f.endEpoch(ctx); err != nil {
				return f.stop(ctx, err)
			}
		}
		if f.options.StopAfter > 0 && f.learner.update.Steps >= f.options.StopAfter {
			return f.Save()
		}
		if ctx.Err() != nil {
			return f.stop(ctx, ctx.Err())
		}
	}
	return nil
}

// begin sets what is fixed for an epoch.
func (f *Fit[T]) begin() {
	f.alpha = f.options.BranchWeight.At(f.at.Epoch, f.options.MaxEpochs)
	if f.options.Progress != nil {
		f.options.Progress.Begin(f.at.Epoch, f.at.Batch)
	}
}

// stop ends a fit early. After a cancellation the state is complete and is
// saved; after another error it may not be, and the last checkpoint stays.
func (f *Fit[T]) stop(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return errors.Join(err, f.Save())
}

// endEpoch validates and saves. Until it is done the fit stands at the end of
// the epoch, so that a fit that is cancelled there resumes with the validation.
func (f *Fit[T]) endEpoch(ctx context.Context) error {
	var figures []Term
	if f.data.Validation != nil {
		var err error
		if figures, err = f.Validate(ctx); err != nil {
			return fmt.Errorf("validation after epoch %d: %w", f.at.Epoch, err)
		}
	}
	if f.options.Progress != nil {
		f.options.Progress.End(f.at.Epoch, figures)
	}
	f.at = data.Position{Epoch: f.at.Epoch + 1}
	return f.Save()
}

// Close releases everything of the fit on the device.
func (f *Fit[T]) Close() error {
	var errs []error
	if f.log != nil {
		errs = append(errs, f.log.close())
		f.log = nil
	}
	if f.learner != nil {
		errs = append(errs, f.learner.Close())
	}
	if f.replay != nil {
		errs = append(errs, f.replay.Close())
	}
	return errors.Join(errs...)
}

// Stages gives the stages of the network, for observers and guards.
func (f *Fit[T]) Stages() []*replay.Stage { return f.learner.network.Stages() }

// Explain tells what will be recorded, and what will not and why.
func (f *Fit[T]) Explain() replay.Explanations { return f.replay.Explain() }

// Report tells what was recorded, replayed and native, and why.
func (f *Fit[T]) Report() replay.Report { return f.learner.Report() }

// Losses are the totals of all micro-batches so far, also of those before a
// resume.
func (f *Fit[T]) Losses() []float64 { return f.log.totals }

// Learner gives the model of the fit.
func (f *Fit[T]) Learner() *Learner[T] { return f.learner }

// Steps is the number of optimizer steps so far.
func (f *Fit[T]) Steps() int { return f.learner.update.Steps }

// Overflows is the number of optimizer steps since the start or resume that
// changed no parameter, because scaled gradients were not finite.
func (f *Fit[T]) Overflows() int { return f.overflows }
