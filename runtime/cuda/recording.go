//go:build cuda

package cuda

// #include "reprise_driver.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/reprise-ml/reprise/runtime/device"
)

// recording implements device.Recording: the graph of a program, which its
// binding's context holds.
type recording struct {
	binding  *binding
	number   C.int
	replay   func() error // made once, so that replays allocate nothing
	reserved int64
	closed   bool
}

// Record implements device.Binding. It fails for a stage whose plan says that it
// cannot be recorded (field case SE-03), and while the binding has an open
// recording of the program.
func (b *binding) Record(p device.Program) (device.Recording, error) {
	number, err := b.number(p)
	if err != nil {
		return nil, err
	}
	plan, d := b.stage.plan, b.stage.device
	if plan.Unrecordable != "" {
		return nil, fmt.Errorf("stage %s cannot be recorded: %s", plan.Name, plan.Unrecordable)
	}
	if err := d.event("record"); err != nil {
		return nil, err
	}
	r := &recording{binding: b, number: number}
	r.replay = func() error {
		return b.counting(func() C.CUresult { return C.reprise_replay(b.context, number) })
	}
	err = d.thread.capture(func() (err error) {
		r.reserved, err = d.reserving(func() error { return b.result(C.reprise_record(b.context, number)) })
		return err
	})
	if err != nil {
		return nil, err
	}
	b.recordings++
	d.count(func(c *device.Counters) {
		c.Recordings++
		c.Reserved += r.reserved
	})
	return r, nil
}

// Replay implements device.Recording.
func (r *recording) Replay() error {
	if r.closed {
		return errors.New("recording is closed")
	}
	d := r.binding.stage.device
	if err := d.event("replay"); err != nil {
		return err
	}
	return d.thread.do(r.replay)
}

// Nodes implements device.Recording.
func (r *recording) Nodes() int {
	w := r.binding.stage.generated.wrapper()
	return int(unsafe.Slice(w.program, int(w.programs))[r.number].nodes)
}

// Close implements device.Recording.
func (r *recording) Close() error {
	if r.closed {
		return errors.New("recording is already closed")
	}
	r.closed = true
	b := r.binding
	b.recordings--
	b.stage.device.count(func(c *device.Counters) {
		c.Recordings--
		c.Reserved -= r.reserved
	})
	return b.stage.device.thread.do(func() error { return b.result(C.reprise_release(b.context, r.number)) })
}
