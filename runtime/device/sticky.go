package device

import "errors"

// StickyError is a failure after which nothing on the device can be trusted,
// such as an illegal address or a recording that stopped half-way: the step
// cannot be repeated and the fit must end. Any other error of Record or Replay
// promises that the call left no trace.
type StickyError struct {
	Err error
}

// Error implements error.
func (e *StickyError) Error() string {
	return e.Err.Error() + "; the device state is lost, start the fit again from its last checkpoint"
}

// Unwrap gives the device's own error.
func (e *StickyError) Unwrap() error { return e.Err }

// IsSticky tells whether an error leaves the device unusable.
func IsSticky(err error) bool {
	var sticky *StickyError
	return errors.As(err, &sticky)
}
