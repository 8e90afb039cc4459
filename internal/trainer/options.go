package trainer

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Options are the settings of a fit. Names in messages are the dotted keys
// under which users know them.
type Options struct {
	CaptureNetwork      bool // model.capture_network
	CaptureSegmentHeads bool // model.capture_segment_heads
	CaptureOptimizer    bool // model.capture_optimizer
	CaptureFull         bool // model.capture_network: full, every stage whatever the other options say
	Strict              bool // trainer.strict

	// Precision is trainer.precision, of the activations; empty is the precision of
	// the numbers that the objective computes in.
	Precision device.Precision

	MaxEpochs  int // trainer.max_epochs
	BatchSize  int // data.batch_size, a full batch
	Accumulate int // trainer.accumulate, micro-batches of one optimizer step

	// AccumulateWarmupEpochs is trainer.accumulate_warmup_epochs, over which
	// Accumulate grows linearly from 1; 0 for none.
	AccumulateWarmupEpochs float64

	Rate         optim.LearningRateOptions // epochs, batches and accumulation are filled in
	Optimizer    optim.MuSGDOptions
	Average      optim.EMAOptions
	Clip         float64                  // trainer.gradient_clip, 0 for none
	LossScale    *optim.LossScalerOptions // FP16: dynamic loss scaling; nil for none
	BranchWeight optim.BranchWeight

	TrainerSeed uint64 // trainer.seed
	DataSeed    uint64 // data.seed

	// Configuration holds the settings that determine the fit, by dotted key,
	// for checkpoints; a resumed fit must have the same.
	Configuration map[string]string

	// Defaults are the values that stood for these settings before they could be
	// chosen: a checkpoint that does not name one is of a fit with its default.
	Defaults map[string]string

	Dir     string // run.dir; empty keeps nothing on disk
	Resume  string // run.resume, a checkpoint file; empty starts anew
	Weights string // run.weights, a checkpoint file to start from; empty draws the weights

	// StopAfter ends the fit, with a checkpoint, after that many optimizer
	// steps in all; 0 runs to the last epoch.
	StopAfter int

	Progress Progress  // nil for none
	Log      io.Writer // warnings and one line per epoch; nil for none
}

// Record turns recording options on.
func (o *Options) Record(options ...CaptureOption) {
	for _, option := range options {
		switch option {
		case CaptureNetwork:
			o.CaptureNetwork = true
		case CaptureSegmentHeads:
			o.CaptureSegmentHeads = true
		case CaptureOptimizer:
			o.CaptureOptimizer = true
		case CaptureFull:
			o.CaptureFull = true
		}
	}
}

// Progress is shown while a fit runs.
type Progress interface {
	// Begin tells that an epoch begins, at a batch other than 0 after a resume.
	Begin(epoch, batch int)
	// Step tells of a finished micro-batch: its images and its loss.
	Step(images int, loss float64)
	// End tells that an epoch is over, with its validation figures.
	End(epoch int, validation []Term)
}

// Data are the loaders of a fit. Validation may be nil.
type Data struct {
	Train      *data.Loader
	Validation *data.Loader
}

func (o Options) validate() error {
	switch {
	case o.MaxEpochs < 1:
		return fmt.Errorf("trainer.max_epochs is %d; use 1 or more", o.MaxEpochs)
	case o.BatchSize < 1:
		return fmt.Errorf("data.batch_size is %d; use 1 or more", o.BatchSize)
	case o.Accumulate < 1:
		return fmt.Errorf("trainer.accumulate is %d; use 1 or more", o.Accumulate)
	case !(o.AccumulateWarmupEpochs >= 0) || math.IsInf(o.AccumulateWarmupEpochs, 1):
		return fmt.Errorf("trainer.accumulate_warmup_epochs is %g; use 0 for none or a positive, finite number of epochs", o.AccumulateWarmupEpochs)
	case o.Weights != "" && o.Resume != "":
		return errors.New("run.weights and run.resume are both set; a resumed fit has its weights, so leave run.weights out")
	case !(o.Clip >= 0):
		return fmt.Errorf("trainer.gradient_clip is %g; use 0 for none or a positive limit", o.Clip)
	}
	return nil
}
