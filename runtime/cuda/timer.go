//go:build cuda

package cuda

import (
	"errors"
	"time"

	"gorgonia.org/cu"
)

// Timer measures how long the device works between two moments of its stream. It
// stays outside recordings: an event inside one would be part of it.
type Timer struct {
	device      *Device
	start, stop cu.Event
}

// NewTimer makes a timer.
func (d *Device) NewTimer() (*Timer, error) {
	t := &Timer{device: d}
	err := d.thread.do(func() error {
		var err error
		if t.start, err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return wrap("a timer could not be made", err)
		}
		if t.stop, err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return errors.Join(wrap("a timer could not be made", err), cu.DestroyEvent(&t.start))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Start marks the moment after all work enqueued so far.
func (t *Timer) Start() error { return t.mark(t.start) }

// Stop marks the moment after all work enqueued so far.
func (t *Timer) Stop() error { return t.mark(t.stop) }

func (t *Timer) mark(event cu.Event) error {
	return t.device.thread.do(func() error { return wrap("a moment could not be marked", event.Record(t.device.stream)) })
}

// Elapsed waits for the second moment and gives the time since the first, with a
// resolution of about half a microsecond.
func (t *Timer) Elapsed() (time.Duration, error) {
	var milliseconds float64
	err := t.device.thread.do(func() (err error) {
		if err = t.stop.Synchronize(); err == nil {
			milliseconds, err = t.start.Elapsed(t.stop)
		}
		return wrap("time could not be measured", err)
	})
	return time.Duration(milliseconds * float64(time.Millisecond)), err
}

// Close releases the timer.
func (t *Timer) Close() error {
	return t.device.thread.do(func() error {
		return wrap("a timer could not be released", errors.Join(cu.DestroyEvent(&t.start), cu.DestroyEvent(&t.stop)))
	})
}

// Synchronize waits for all work of the device.
func (d *Device) Synchronize() error {
	return d.thread.do(func() error { return wrap("work could not be finished", d.stream.Synchronize()) })
}
