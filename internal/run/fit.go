package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Request is a fit to run.
type Request struct {
	Settings  *config.Settings
	Network   Network
	DataFile  string // data.yaml
	StopAfter int    // optimizer steps; 0 runs all epochs

	// Explain receives, before the first step, what is recorded of each stage,
	// what is not, and why; nil for none.
	Explain io.Writer

	// Progress receives the progress line and warnings; nil for none.
	Progress io.Writer
}

// Fit runs a fit from the first batch to the last checkpoint. After a
// cancellation the summary tells what was done, and a checkpoint was written.
func Fit(ctx context.Context, r Request) (*Summary, error) {
	if r.Settings.Trainer.Precision == string(device.Float64) {
		return fit[float64](ctx, r)
	}
	return fit[float32](ctx, r)
}

func fit[T device.Float](ctx context.Context, r Request) (summary *Summary, err error) {
	start := time.Now()
	if err := keepEarlier(r.Settings); err != nil {
		return nil, err
	}
	task, err := taskOf[T](r)
	if err != nil {
		return nil, err
	}
	described, err := data.ReadConfig(r.DataFile)
	if err != nil {
		return nil, err
	}
	loaders, err := openData(ctx, r.Settings, described)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeCaches(loaders)) }()
	if err := errors.Join(showFaults(r.Progress, loaders), showCaches(r.Progress, loaders)); err != nil {
		return nil, err
	}
	dev, err := OpenDevice(r.Settings.Device)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	options := trainer.OptionsOf(r.Settings)
	options.StopAfter, options.Log = r.StopAfter, r.Progress
	meter := newMeter(r.Progress, r.Settings.Trainer.MaxEpochs, r.Settings.Data.BatchSize, loaders)
	options.Progress = meter
	records, err := startRecords(&options, loaders)
	if err != nil {
		return nil, err
	}
	f, err := trainer.New(dev, task, loaders, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := prepareFolder(r.Settings, r.Progress); err != nil {
		return nil, err
	}
	if err := records.start(ctx, f.Losses, loaders); err != nil {
		return nil, err
	}
	if r.Explain != nil {
		if _, err := fmt.Fprintln(r.Explain, f.Explain()); err != nil {
			return nil, err
		}
	}
	runErr := f.Run(ctx)
	if runErr != nil && ctx.Err() == nil {
		return nil, runErr
	}
	summary, err = summarise(r.Settings, f, meter, time.Since(start))
	return summary, errors.Join(runErr, err)
}

// taskOf fits the network and its objective together.
func taskOf[T device.Float](r Request) (trainer.Task[T], error) {
	plans, err := r.Network.plans(r.Settings)
	if err != nil {
		return trainer.Task[T]{}, err
	}
	return catalog.TaskWith[T](r.Settings, plans, r.Network.Objective)
}
