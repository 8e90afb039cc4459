//go:build cuda

package cuda

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/reprise-ml/reprise/gen/ir"
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

// Apart makes a call while every storage of a binding, its packed weights and the
// scratch memory of its lanes lie in allocations of their own, as long as the
// layout says, so that a kernel that leaves one is found where memory is checked.
// Content is carried there and, but for the arena, back again.
func Apart(b device.Binding, call func() error) error {
	binding := b.(*binding)
	var pieces []piece
	move := func() error {
		for _, p := range binding.pieces() {
			if err := p.move(binding.stage.device); err != nil {
				return err
			}
			pieces = append(pieces, p)
		}
		return nil
	}
	back := func() (err error) {
		for _, p := range pieces {
			err = errors.Join(err, p.back(binding.stage.device))
		}
		return err
	}
	err := binding.stage.device.thread.do(move)
	if err == nil {
		err = call()
	}
	return errors.Join(err, binding.stage.device.thread.do(back))
}

// piece is memory that kernels know by one address.
type piece struct {
	address *uint64 // where the context keeps it
	bytes   int64
	keep    bool // its content is needed afterwards

	home, apart cu.DevicePtr
}

func (b *binding) pieces() []piece {
	plan, c := b.stage.plan, b.context
	number := func(address unsafe.Pointer) *uint64 { return (*uint64)(address) }
	var all []piece
	storages := unsafe.Slice(c.storage, len(plan.Storages))
	for i := range storages {
		id := ir.StorageID(i + 1)
		_, bytes := b.place(id)
		all = append(all, piece{address: number(unsafe.Pointer(&storages[i])), bytes: bytes, keep: plan.Storage(id).Space != ir.Arena})
	}
	w := b.stage.generated.wrapper()
	all = append(all, piece{address: number(unsafe.Pointer(&c.packed)), bytes: int64(w.packed) * int64(c.element)})
	scratch := unsafe.Slice(c.scratch, int(w.lanes))
	for lane := range scratch {
		all = append(all, piece{address: number(unsafe.Pointer(&scratch[lane])), bytes: b.scratchBytes(lane)})
	}
	return slices.DeleteFunc(all, func(p piece) bool { return p.bytes == 0 })
}

func (p *piece) move(d *Device) (err error) {
	p.home = cu.DevicePtr(*p.address)
	if p.apart, err = cu.MemAlloc(p.bytes); err != nil {
		return err
	}
	*p.address = uint64(p.apart)
	return cu.MemcpyDtoDAsync(p.apart, p.home, p.bytes, d.stream)
}

func (p *piece) back(d *Device) (err error) {
	*p.address = uint64(p.home)
	if p.keep {
		err = cu.MemcpyDtoDAsync(p.home, p.apart, p.bytes, d.stream)
	}
	return errors.Join(err, d.stream.Synchronize(), cu.MemFree(p.apart))
}
