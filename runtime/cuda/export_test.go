//go:build cuda

package cuda

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/reprise-ml/reprise/runtime/device"
)

// FailAt makes the n-th launch of the binding from now on fail; 0 for none.
func FailAt(b device.Binding, n int) { set(&b.(*binding).context.fail_at, n) }

// set writes a field of a C structure, whose type a test cannot name.
func set[C ~int64](field *C, n int) { *field = C(n) }

// OneNodeMore makes a binding believe, until restore is called, that a program has
// one launch more than it has.
func OneNodeMore(b device.Binding, program int) (restore func()) {
	context := b.(*binding).context
	before := context.stage
	changed := *before
	programs := slices.Clone(unsafe.Slice(before.program, int(before.programs)))
	programs[program].nodes++
	changed.program = &programs[0]
	var pinned runtime.Pinner // C sees them
	pinned.Pin(&changed)
	pinned.Pin(&programs[0])
	context.stage = &changed
	return func() {
		context.stage = before
		pinned.Unpin()
	}
}

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

// Foreign makes the device's context current on the calling thread, which must be
// locked, as a library beside the back end would, and calls body, which may wait
// for the whole context. The context is retained once: its owner keeps it.
func Foreign(d *Device, body func(synchronize func() error)) error {
	context, err := d.device.RetainPrimaryCtx()
	if err != nil {
		return err
	}
	if err = cu.SetCurrentContext(context); err == nil {
		body(cu.Synchronize)
		err = cu.SetCurrentContext(cu.CUContext{})
	}
	return errors.Join(err, d.device.ReleasePrimaryCtx())
}
