//go:build cuda

package cuda

import (
	"errors"
	"time"

	"gorgonia.org/cu"

	"github.com/reprise-ml/reprise/runtime/device"
)

// timer implements device.Timer by two events of the device's stream.
type timer struct {
	device      *Device
	start, stop cu.Event
}

// NewTimer implements device.Timed.
func (d *Device) NewTimer() (device.Timer, error) {
	t := &timer{device: d}
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

// Start implements device.Timer.
func (t *timer) Start() error { return t.mark(t.start) }

// Stop implements device.Timer.
func (t *timer) Stop() error { return t.mark(t.stop) }

func (t *timer) mark(event cu.Event) error {
	return t.device.thread.do(func() error { return wrap("a moment could not be marked", event.Record(t.device.stream)) })
}

// Elapsed implements device.Timer, with a resolution of about half a microsecond.
func (t *timer) Elapsed() (time.Duration, error) {
	var milliseconds float64
	err := t.device.thread.do(func() (err error) {
		if err = t.stop.Synchronize(); err == nil {
			milliseconds, err = t.start.Elapsed(t.stop)
		}
		return wrap("time could not be measured", err)
	})
	return time.Duration(milliseconds * float64(time.Millisecond)), err
}

// Close implements device.Timer.
func (t *timer) Close() error {
	return t.device.thread.do(func() error {
		return wrap("a timer could not be released", errors.Join(cu.DestroyEvent(&t.start), cu.DestroyEvent(&t.stop)))
	})
}

// Synchronize implements device.Timed.
func (d *Device) Synchronize() error {
	return d.thread.do(func() error { return wrap("work could not be finished", d.stream.Synchronize()) })
}
