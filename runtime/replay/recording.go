package replay

import (
	"errors"
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// recording is all that was captured for the signature of a stage: the training
// forward program and the backward program of every presence pattern. Taking
// them together, before the step that needs them, keeps memory constant
// afterwards and lets every failure show before anything has run.
type recording struct {
	forward  device.Recording
	backward []device.Recording // by pattern
}

// record captures every program on the binding; nothing is executed. After an
// error nothing is left.
func (s *Stage) record(b device.Binding) error {
	r := &recording{}
	var err error
	if r.forward, err = s.capture(b, device.Forward(ir.Training)); err != nil {
		return err
	}
	for pattern := range s.plan.Backward {
		captured, err := s.capture(b, device.BackwardOf(pattern))
		if err != nil {
			return errors.Join(err, r.close())
		}
		r.backward = append(r.backward, captured)
	}
	s.recording = r
	s.counts.recorded++
	return nil
}

func (s *Stage) capture(b device.Binding, p device.Program) (device.Recording, error) {
	captured, err := b.Record(p)
	if err != nil {
		return nil, err
	}
	if captured.Nodes() == 0 && len(p.Ops(s.plan)) > 0 {
		return nil, errors.Join(errors.New("empty recording: no launch was captured"), captured.Close())
	}
	return captured, nil
}

func (r *recording) of(p device.Program) device.Recording {
	if p.Backward {
		return r.backward[p.Pattern]
	}
	return r.forward
}

func (r *recording) close() error {
	errs := make([]error, 0, 1+len(r.backward))
	for i := len(r.backward) - 1; i >= 0; i-- {
		errs = append(errs, r.backward[i].Close())
	}
	return errors.Join(append(errs, r.forward.Close())...)
}

// closeRecording releases what was captured, if anything.
func (s *Stage) closeRecording() error {
	if s.recording == nil {
		return nil
	}
	r := s.recording
	s.recording = nil
	return s.named("release recording", r.close())
}

// release drops a recording that will not be replayed again; a failure to
// release is a warning, since the step goes on natively either way.
func (s *Stage) release() {
	if err := s.closeRecording(); err != nil {
		s.fit.warn(err.Error())
	}
}

// launch runs a program: as a replay when reason is nil, else natively. It
// returns the reason that held in the end, which differs from the given one
// when recording or replay failed and the program ran natively instead.
func (s *Stage) launch(b device.Binding, p device.Program, reason *Reason) (*Reason, error) {
	before := s.fit.dev.Counters()
	defer func() { s.counts.launched(before, s.fit.dev.Counters()) }()
	if reason == nil {
		var err error
		if reason, err = s.replay(b, p); reason == nil || err != nil {
			return reason, err
		}
	}
	if err := s.runNatively(b, p); err != nil {
		return reason, s.fit.settle(fmt.Errorf("stage %s: %w", s.plan.Name, err))
	}
	return reason, nil
}

// replay replays a program, after recording the stage if that has not been
// done. A reason tells that nothing has run.
func (s *Stage) replay(b device.Binding, p device.Program) (*Reason, error) {
	if s.recording == nil {
		if err := s.record(b); err != nil {
			return s.fit.fail(s, "recording failed", err)
		}
	}
	if err := s.recording.of(p).Replay(); err != nil {
		return s.fit.fail(s, "replay failed", err)
	}
	return nil, nil
}
