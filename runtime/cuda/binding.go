//go:build cuda

package cuda

// #include "reprise_driver.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// binding implements device.Binding and device.Observable.
type binding struct {
	stage   *stage
	sizes   ir.Sizes
	context *C.struct_reprise_context
	block   *block // inputs, outputs, cotangents, arena and scratch
	layout  *layout
	pixels  cu.DevicePtr // where 8-bit images are uploaded; 0 when no input is an image

	inputs, outputs, cotangents, inputGradients []device.Tensor

	recordings int
	closed     bool
	counted    [2]int64 // kernel and graph launches that the device knows of
}

// Bind implements device.Stage.
func (s *stage) Bind(sizes ir.Sizes) (device.Binding, error) {
	if s.closed {
		return nil, fmt.Errorf("stage %s is closed", s.plan.Name)
	}
	if err := s.plan.CheckSizes(sizes); err != nil {
		return nil, err
	}
	b := &binding{stage: s, sizes: sizes}
	if err := s.device.thread.do(b.open); err != nil {
		return nil, s.named(err)
	}
	s.bindings++
	return b, nil
}

// open takes everything that a binding needs. It runs on the thread.
func (b *binding) open() error {
	err := b.kernels()
	if err == nil {
		err = b.allocate()
	}
	if err == nil {
		err = b.tensors()
	}
	if err != nil {
		return errors.Join(err, b.release())
	}
	return nil
}

// kernels makes the context and gives it the kernels that the sizes need.
func (b *binding) kernels() error {
	s := b.stage
	w := s.generated.wrapper()
	if b.context = C.reprise_context_new(w); b.context == nil {
		return errors.New("no host memory for the launches of a stage")
	}
	n, height, width := b.cSizes()
	functions := s.narrow
	if C.reprise_needs_wide(w, n, height, width) != 0 {
		if s.wide == nil {
			var err error
			if s.wide, err = s.loadKernels(true); err != nil {
				return err
			}
		}
		functions = s.wide
	}
	functions.bind(b.context)
	b.context.batch, b.context.height, b.context.width = n, height, width
	b.context.element = C.int64_t(elementBytes(s.precision))
	return b.result(C.reprise_context_open(b.context, *(*C.CUstream)(unsafe.Pointer(&s.device.stream))))
}

func (b *binding) cSizes() (n, height, width C.int64_t) {
	return C.int64_t(b.sizes.Batch), C.int64_t(b.sizes.Height), C.int64_t(b.sizes.Width)
}

// allocate makes the memory: floats start as NaN, which all bits set is in every
// precision, integers as zero.
func (b *binding) allocate() error {
	s := b.stage
	var err error
	if b.layout, err = newLayout(s.plan, s.precision, b.sizes); err != nil {
		return err
	}
	b.layout.place(bound)
	b.layout.arena()
	w, c := s.generated.wrapper(), b.context
	packed := b.layout.reserve(int64(w.packed) * int64(c.element))
	// Pixels are uploaded between programs, when no launch has scratch memory.
	scratch, pixels := make([]int64, w.lanes), b.layout.bytes
	for lane := range scratch {
		scratch[lane] = b.layout.reserve(b.scratchBytes(lane))
	}
	b.layout.bytes = max(b.layout.bytes, pixels+aligned(b.pixelBytes()))
	if b.block, err = s.device.allocate(b.layout.bytes); err != nil {
		return err
	}
	c.packed = b.at(packed)
	for lane, offset := range scratch {
		unsafe.Slice(c.scratch, len(scratch))[lane] = b.at(offset)
	}
	if b.pixelBytes() > 0 {
		b.pixels = b.block.address + cu.DevicePtr(pixels)
	}
	b.addresses()
	if err := b.block.set(0, b.layout.bytes, 0xff); err != nil {
		return err
	}
	return b.clearIntegers()
}

// scratchBytes is the scratch memory that a lane needs.
func (b *binding) scratchBytes(lane int) int64 {
	c := b.context
	return int64(C.reprise_scratch_bytes(b.stage.generated.wrapper(), C.int(lane), c.batch, c.height, c.width))
}

// at is the address of an offset in the binding's memory.
func (b *binding) at(offset int64) C.CUdeviceptr {
	return C.CUdeviceptr(b.block.address) + C.CUdeviceptr(offset)
}

// addresses tells the context where every storage is.
func (b *binding) addresses() {
	plan := b.stage.plan
	storages := unsafe.Slice(b.context.storage, len(plan.Storages))
	for i := range plan.Storages {
		base, _ := b.place(ir.StorageID(i + 1))
		storages[i] = C.CUdeviceptr(base)
	}
}

// place gives the address and the bytes of a storage.
func (b *binding) place(id ir.StorageID) (cu.DevicePtr, int64) {
	block, layout := b.block, b.layout
	if persistent(b.stage.plan.Storage(id).Space) {
		block, layout = b.stage.block, b.stage.layout
	}
	return block.address + cu.DevicePtr(layout.offsets[id-1]), layout.sizes[id-1]
}

func (b *binding) clearIntegers() error {
	for i, st := range b.stage.plan.Storages {
		if persistent(st.Space) || !typeOf(st.Elem, b.stage.precision).integer() {
			continue
		}
		if err := b.block.set(b.layout.offsets[i], b.layout.sizes[i], 0); err != nil {
			return err
		}
	}
	return nil
}

// release gives back what open took, as far as it came.
func (b *binding) release() error {
	var err error
	if b.context != nil {
		err = b.result(C.reprise_context_close(b.context))
	}
	err = errors.Join(err, b.block.free())
	b.block = nil
	if b.context != nil {
		C.reprise_context_delete(b.context)
		b.context = nil
	}
	return err
}

// result turns what a C function returned into an error, with the reason that
// the same call left in the context.
func (b *binding) result(r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return wrap(C.GoString(b.context.reason), status(r))
}

// Sizes implements device.Binding.
func (b *binding) Sizes() ir.Sizes { return b.sizes }

// Input implements device.Binding.
func (b *binding) Input(i int) device.Tensor { return b.inputs[i] }

// Output implements device.Binding.
func (b *binding) Output(i int) device.Tensor { return b.outputs[i] }

// Cotangent implements device.Binding.
func (b *binding) Cotangent(i int) device.Tensor { return b.cotangents[i] }

// InputGradient implements device.Binding.
func (b *binding) InputGradient(i int) device.Tensor { return b.inputGradients[i] }

// Close implements device.Binding.
func (b *binding) Close() error {
	plan := b.stage.plan
	if b.closed {
		return fmt.Errorf("binding of stage %s at %s is already closed", plan.Name, b.sizes)
	}
	if b.recordings > 0 {
		return fmt.Errorf("binding of stage %s at %s still has %d open recordings; close them first", plan.Name, b.sizes, b.recordings)
	}
	b.closed = true
	b.stage.bindings--
	return b.stage.named(b.stage.device.thread.do(b.release))
}
