//go:build cuda

package cuda

import (
	"errors"
	"fmt"

	"gorgonia.org/cu"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// alignment is the boundary of every storage in bytes: what the kernels' widest
// loads and the driver's own allocations keep.
const alignment = 256

func aligned(bytes int64) int64 { return (bytes + alignment - 1) / alignment * alignment }

// block is one allocation on the device.
type block struct {
	device   *Device
	address  cu.DevicePtr
	bytes    int64
	reserved int64
}

// reserving runs what takes memory of the driver and counts how much the device
// has less afterwards, in whole pages.
func (d *Device) reserving(take func() error) (reserved int64, err error) {
	before, _, err := cu.MemInfo()
	if err != nil {
		return 0, wrap("free memory could not be read", err)
	}
	if err := take(); err != nil {
		return 0, err
	}
	after, _, err := cu.MemInfo()
	if err != nil {
		return 0, wrap("free memory could not be read", err)
	}
	return max(before-after, 0), nil
}

// allocate takes memory, at least one byte.
func (d *Device) allocate(bytes int64) (*block, error) {
	b := &block{device: d, bytes: max(bytes, 1)}
	var err error
	b.reserved, err = d.reserving(func() error {
		var err error
		b.address, err = cu.MemAlloc(b.bytes)
		if s, _ := statusOf(err); err != nil && s == outOfMemory {
			free, total, _ := cu.MemInfo()
			return fmt.Errorf("cuda: %d MiB are needed and %d of %d MiB are free: %w; use a smaller batch or image", b.bytes>>20, free>>20, total>>20, s)
		}
		return wrap("memory could not be allocated", err)
	})
	if err != nil {
		if b.address != 0 { // taken before its size could be counted
			err = errors.Join(err, cu.MemFree(b.address))
		}
		return nil, err
	}
	d.count(func(c *device.Counters) {
		c.Bytes += b.bytes
		c.Reserved += b.reserved
	})
	return b, nil
}

// free gives the memory back after all work that was enqueued before.
func (b *block) free() error {
	if b == nil {
		return nil
	}
	d := b.device
	d.count(func(c *device.Counters) {
		c.Bytes -= b.bytes
		c.Reserved -= b.reserved
	})
	return errors.Join(
		wrap("work could not be finished", d.stream.Synchronize()),
		wrap("memory could not be released", cu.MemFree(b.address)),
	)
}

// set fills a range of a block with one byte.
func (b *block) set(offset, bytes int64, value byte) error {
	if bytes == 0 {
		return nil
	}
	return wrap("memory could not be filled", cu.MemsetD8Async(b.address+cu.DevicePtr(offset), value, bytes, b.device.stream))
}

// layout gives storages their places in one block.
type layout struct {
	plan    *ir.Stage
	element int64   // bytes of an activation
	sizes   []int64 // bytes of each storage
	offsets []int64 // of each storage
	bytes   int64   // so far
}

// newLayout evaluates the size of every storage of a plan.
func newLayout(plan *ir.Stage, precision device.Precision, sizes ir.Sizes) (*layout, error) {
	n := len(plan.Storages)
	l := &layout{plan: plan, element: elementBytes(precision), sizes: make([]int64, n), offsets: make([]int64, n)}
	for i := range plan.Storages {
		st := &plan.Storages[i]
		size, err := st.Size.Eval(sizes)
		if err != nil {
			return nil, fmt.Errorf("storage %s: %w", st.Name, err)
		}
		l.sizes[i] = int64(size) * typeOf(st.Elem, precision).bytes()
	}
	return l, nil
}

// reserve gives out bytes at the end.
func (l *layout) reserve(bytes int64) (offset int64) {
	offset = l.bytes
	l.bytes += aligned(bytes)
	return offset
}

// place gives every storage that wanted accepts a place of its own.
func (l *layout) place(wanted func(ir.Space) bool) {
	for i := range l.plan.Storages {
		if wanted(l.plan.Storages[i].Space) {
			l.offsets[i] = l.reserve(l.sizes[i])
		}
	}
}

// arena places the storages of Space Arena, each element kind in a range of its
// own, so that floats never see the bits of integers.
func (l *layout) arena() {
	for _, elem := range ir.ElementKinds {
		l.bytes = aligned(l.plan.Stack(elem, l.bytes, alignment, l.sizes, l.offsets))
	}
}

// persistent tells whether a space lives as long as the stage.
func persistent(space ir.Space) bool {
	return space == ir.ParameterSpace || space == ir.ParameterGradient || space == ir.BufferSpace
}

// bound tells whether a space belongs to a binding and has a place of its own.
func bound(space ir.Space) bool { return !persistent(space) && space != ir.Arena }
