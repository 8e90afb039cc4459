package trainer

import (
	"errors"

	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// newOptimizer starts the optimizer of a learner; placeOptimizer gives it its
// stages.
func newOptimizer[T device.Float](fit *replay.Fit, o Options) (*optim.MuSGD[T], error) {
	wish := replay.StageOptions{Capture: o.CaptureOptimizer, Option: string(CaptureOptimizer)}
	return optim.NewMuSGD[T](optim.Home{Fit: fit, Wish: wish}, o.Optimizer)
}

// placeOptimizer makes the optimizer's stages unless that has been done: one for
// the parameters of the network, on its device, and one for those of the
// objective, on the host, in whose memory they live. Learners that only
// evaluate never need them.
func (l *Learner[T]) placeOptimizer() error {
	if l.placed {
		return nil
	}
	var network, own []optim.Parameter[T]
	for i, b := range l.memory.parameters {
		p := optim.Parameter[T]{Name: b.name, Shape: b.shape}
		if i < len(l.memory.owner) {
			network = append(network, p)
		} else {
			own = append(own, p)
		}
	}
	home := l.update.Optimizer.Home()
	if err := l.update.Optimizer.Place(home, network); err != nil {
		return err
	}
	if len(own) > 0 && home.Fit.Device().Kind != "host" {
		l.hostDevice = host.Open(host.Options{})
		var err error
		if l.hostFit, err = home.Fit.Beside(l.hostDevice); err != nil {
			return err
		}
		home.Fit = l.hostFit
	}
	l.placed = true
	return l.update.Optimizer.Place(home, own)
}

// Report tells what the recording runtime has done for the model, the objective
// and the optimizer.
func (l *Learner[T]) Report() replay.Report {
	r := l.update.Optimizer.Home().Fit.Report()
	if l.hostFit != nil {
		beside := l.hostFit.Report()
		r.Stages, r.Warnings = append(r.Stages, beside.Stages...), append(r.Warnings, beside.Warnings...)
	}
	return r
}

// Close releases what the learner holds beside its fit.
func (l *Learner[T]) Close() error {
	var errs []error
	if l.hostFit != nil {
		errs = append(errs, l.hostFit.Close())
	}
	if l.hostDevice != nil {
		errs = append(errs, l.hostDevice.Close())
	}
	l.hostFit, l.hostDevice = nil, nil
	return errors.Join(errs...)
}
