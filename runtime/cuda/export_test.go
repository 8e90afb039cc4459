//go:build cuda

package cuda

import (
	"errors"

	"gorgonia.org/cu"

	"github.com/reprise-ml/reprise/runtime/device"
)

// FailAt makes the n-th launch of the binding from now on fail; 0 for none.
func FailAt(b device.Binding, n int) { set(&b.(*binding).context.fail_at, n) }

// set writes a field of a C structure, whose type a test cannot name.
func set[C ~int64](field *C, n int) { *field = C(n) }

// Pinned allocates and frees pinned memory on the calling thread, as a loader of
// images would.
func Pinned(bytes int) error {
	var s staging
	return errors.Join(s.grow(int64(bytes)), s.release())
}

// OnThread makes a call where the device makes its own.
func OnThread(d *Device, call func() error) error { return d.thread.do(call) }

// WhileCapturing makes a call on the device's thread while nothing else may call
// the driver.
func WhileCapturing(d *Device, call func() error) error { return d.thread.capture(call) }

// FreeMemory is what the driver says of the device.
func FreeMemory(d *Device) (free int64, err error) {
	err = d.thread.do(func() error {
		free, _, err = cu.MemInfo()
		return err
	})
	return free, err
}

// SynchronizeContext waits for the whole device on the calling thread, which the
// back end never does.
func SynchronizeContext(d *Device) error {
	context, err := d.device.RetainPrimaryCtx()
	if err != nil {
		return err
	}
	err = cu.SetCurrentContext(context)
	if err == nil {
		err = cu.Synchronize()
	}
	return errors.Join(err, d.device.ReleasePrimaryCtx())
}
