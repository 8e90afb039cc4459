package replay

import (
	"errors"
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Fit is one training run on one device, from the first batch to the last
// checkpoint. It owns its stages and everything recorded for them.
type Fit struct {
	dev       device.Device
	settings  Settings
	stages    []*Stage
	observers []*observer

	failure  string // why nothing is recorded any more (guard G10)
	broken   error  // a sticky device error: every later call returns it
	warnings []string
	closed   bool
	closing  error // what Close returned
}

// NewFit starts a fit. The device must stay open until the fit is closed.
func NewFit(dev device.Device, settings Settings) (*Fit, error) {
	if dev == nil {
		return nil, errNoDevice
	}
	settings, err := settings.complete()
	if err != nil {
		return nil, err
	}
	return &Fit{dev: dev, settings: settings}, nil
}

// Beside starts a fit with the same settings on another device, for the parts
// of a training run that live there. It is closed by itself.
func (f *Fit) Beside(dev device.Device) (*Fit, error) { return NewFit(dev, f.settings) }

// Device describes the device of the fit.
func (f *Fit) Device() device.Info { return f.dev.Info() }

// AddStage loads a plan on the device and starts its parameters, buffers and
// random generators from the fit's seed. Stage names and state-entry names must
// be unique in the fit.
func (f *Fit) AddStage(plan *ir.Stage, options StageOptions) (*Stage, error) {
	if err := f.usable(); err != nil {
		return nil, err
	}
	if err := f.checkNames(plan); err != nil {
		return nil, err
	}
	if options.Precision == "" {
		options.Precision = f.settings.Precision
	}
	if err := checkPrecision(options.Precision); err != nil {
		return nil, fmt.Errorf("stage %s: %w", plan.Name, err)
	}
	loaded, err := f.dev.Load(plan, options.Precision)
	if err != nil {
		return nil, fmt.Errorf("stage %s: load: %w", plan.Name, err)
	}
	s := newStage(f, plan, loaded, options)
	if err := s.initialise(f.settings.Seed); err != nil {
		return nil, errors.Join(fmt.Errorf("stage %s: initialise: %w", plan.Name, err), loaded.Close())
	}
	f.stages = append(f.stages, s)
	return s, nil
}

func (f *Fit) checkNames(plan *ir.Stage) error {
	taken := map[string]string{}
	for _, s := range f.stages {
		if s.plan.Name == plan.Name {
			return fmt.Errorf("stage %s is already part of the fit; use another name", plan.Name)
		}
		for _, e := range s.entries() {
			taken[e.name] = s.plan.Name
		}
	}
	for _, e := range entriesOf(plan) {
		if owner, found := taken[e.name]; found {
			return fmt.Errorf("stage %s: state entry %q belongs to stage %s already; build one of them in another scope", plan.Name, e.name, owner)
		}
		taken[e.name] = plan.Name
	}
	return nil
}

// Stages lists the stages in the order in which they were added.
func (f *Fit) Stages() []*Stage { return append([]*Stage(nil), f.stages...) }

// usable tells why the fit takes no more calls.
func (f *Fit) usable() error {
	if f.closed {
		return errors.New("the fit is closed; start another one")
	}
	return f.broken
}

// Close ends the fit: recordings first, after their last replay has finished,
// then what they used, then the stages. It does so after every failure too,
// reports each error and leaves nothing alive. Later calls return the same.
func (f *Fit) Close() error {
	if f.closed {
		return f.closing
	}
	for _, w := range f.unusedWishes() {
		f.warn(w)
	}
	f.closed = true
	var errs []error
	for _, s := range f.stages {
		errs = append(errs, s.closeRecording())
	}
	for _, s := range f.stages {
		errs = append(errs, s.closeBindings())
	}
	for _, s := range f.stages {
		errs = append(errs, s.closeStage())
	}
	f.closing = errors.Join(errs...)
	return f.closing
}

// fail ends recording for the fit after a failed recording or replay: it
// releases every recording and warns once. It returns the reason for going on
// natively, or the error when nothing on the device can be trusted any more or
// the policy is strict. Nothing of the failed attempt has run (see
// device.Recording), so the native call that follows is the only one.
func (f *Fit) fail(s *Stage, what string, cause error) (*Reason, error) {
	err := fmt.Errorf("stage %s: %s: %w", s.plan.Name, what, cause)
	if device.IsSticky(cause) {
		f.broken = err
		return nil, err
	}
	f.failure = what
	for _, other := range f.stages {
		other.release()
	}
	if f.settings.Strict {
		return nil, fmt.Errorf("strict: %w", err)
	}
	f.warn(err.Error() + "; the fit goes on natively")
	return &Reason{Guard: "G10", Scope: ForFit, Text: what}, nil
}

// settle remembers a sticky error of a native call.
func (f *Fit) settle(err error) error {
	if device.IsSticky(err) {
		f.broken = err
	}
	return err
}

func (f *Fit) warn(warning string) {
	f.warnings = append(f.warnings, warning)
	if f.settings.Warn != nil {
		f.settings.Warn(warning)
	}
}
