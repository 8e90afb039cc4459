package host

import (
	"errors"
	"time"

	"github.com/reprise-ml/reprise/runtime/device"
)

// timer implements device.Timer. Calls return when their work is done, so the
// clock tells how long it took.
type timer struct {
	start, stop time.Time
}

// NewTimer implements device.Timed.
func (d *Device) NewTimer() (device.Timer, error) { return new(timer), nil }

// Synchronize implements device.Timed: nothing is ever left to do.
func (d *Device) Synchronize() error { return nil }

// Start implements device.Timer.
func (t *timer) Start() error {
	*t = timer{start: time.Now()}
	return nil
}

// Stop implements device.Timer.
func (t *timer) Stop() error {
	t.stop = time.Now()
	return nil
}

// Elapsed implements device.Timer.
func (t *timer) Elapsed() (time.Duration, error) {
	if t.start.IsZero() || t.stop.IsZero() {
		return 0, errors.New("a timer must be started and stopped before it is read")
	}
	return t.stop.Sub(t.start), nil
}

// Close implements device.Timer.
func (t *timer) Close() error { return nil }
