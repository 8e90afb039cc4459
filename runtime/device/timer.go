package device

import "time"

// Timed is a device whose work can be measured. Both back ends are.
type Timed interface {
	// NewTimer makes a timer.
	NewTimer() (Timer, error)

	// Synchronize waits for all work of the device.
	Synchronize() error
}

// Timer measures how long a device works between two moments of its order of
// work. It stays outside recordings: a moment inside one would be part of it.
type Timer interface {
	// Start and Stop mark the moment after all work enqueued so far.
	Start() error
	Stop() error

	// Elapsed waits for the second moment and gives the time since the first.
	Elapsed() (time.Duration, error)

	// Close releases the timer.
	Close() error
}
