//go:build cuda

package cuda

// #include "reprise_driver.h"
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// tensors opens the tensors of the ports and makes room to stage them.
func (b *binding) tensors() error {
	open := func(list *[]device.Tensor, name string, ref ir.Ref) error {
		if ref == 0 {
			*list = append(*list, nil)
			return nil
		}
		t, err := b.tensor(name, ref)
		if err != nil {
			return err
		}
		*list = append(*list, t)
		return b.stage.device.staging.grow(max(t.bytes(), b.pixelBytes()))
	}
	plan := b.stage.plan
	for _, p := range plan.Inputs {
		if err := open(&b.inputs, p.Name, p.Tensor); err != nil {
			return err
		}
		if err := open(&b.inputGradients, p.Name, p.Gradient); err != nil {
			return err
		}
	}
	for _, p := range plan.Outputs {
		if err := open(&b.outputs, p.Name, p.Tensor); err != nil {
			return err
		}
		if err := open(&b.cotangents, p.Name, p.Gradient); err != nil {
			return err
		}
	}
	return nil
}

// tensor opens any tensor of the plan.
func (b *binding) tensor(name string, ref ir.Ref) (*tensor, error) {
	s := b.stage
	storage := s.plan.Tensor(ref).Storage
	if storage == 0 {
		return nil, fmt.Errorf("tensor of %s has no storage", name)
	}
	base, bytes := b.place(storage)
	t, err := openTensor(s.device, s.plan, s.precision, name, ref, b.sizes, base, bytes)
	if err != nil {
		return nil, err
	}
	t.binding = b
	return t, nil
}

// activation is the type of the stage's activations.
func (b *binding) activation() elementType { return typeOf(ir.Activation, b.stage.precision) }

// takesImages tells whether the stage can convert 8-bit pixels.
func (b *binding) takesImages() bool { return b.stage.generated.wrapper().images != nil }

// jitterBytes is the memory of one jitter: three numbers of 32 bits.
const jitterBytes = int64(unsafe.Sizeof(device.Jitter{}))

// pixelBytes is the memory that one batch of images needs: a jitter for each image,
// then the pixels of all.
func (b *binding) pixelBytes() int64 {
	if !b.takesImages() {
		return 0
	}
	var bytes int64
	for _, in := range b.stage.plan.Inputs {
		t := b.stage.plan.Tensor(in.Tensor)
		if three, constant := t.Shape[min(1, len(t.Shape)-1)].Constant(); !t.Map || !constant || three != 3 {
			continue
		}
		if n, err := ir.Elements(t.Shape).Eval(b.sizes); err == nil {
			bytes = max(bytes, int64(b.sizes.Batch)*jitterBytes+int64(n))
		}
	}
	return bytes
}

// writeImages uploads pixels with their jitters, and changes and converts them on
// the device.
func (b *binding) writeImages(t *tensor, pixels []uint8, jitter []device.Jitter) error {
	before := int64(t.shape[0]) * jitterBytes
	if before+int64(len(pixels)) > b.pixelBytes() {
		return fmt.Errorf("tensor %s is larger than every input of images of its stage", t.name)
	}
	d, c := b.stage.device, b.context
	copy(unsafe.Slice((*device.Jitter)(d.staging.memory), t.shape[0]), jitter)
	copy(unsafe.Slice((*uint8)(d.staging.memory), before+int64(len(pixels)))[before:], pixels)
	if err := d.upload(t.name, b.pixels, before+int64(len(pixels))); err != nil {
		return err
	}
	jitters := b.pixels
	if jitter == nil {
		jitters = 0
	}
	var strides [4]C.int64_t
	for i, s := range t.strides {
		strides[i] = C.int64_t(s)
	}
	s := t.shape
	return b.counting(func() C.CUresult {
		return C.reprise_images(c, C.CUdeviceptr(jitters), C.CUdeviceptr(b.pixels+cu.DevicePtr(before)), C.CUdeviceptr(t.address), &strides[0], C.int64_t(s[0]), C.int64_t(s[2]), C.int64_t(s[3]))
	})
}

// add adds activations that lie in memory alike.
func (b *binding) add(t, s *tensor) error {
	return b.counting(func() C.CUresult {
		return C.reprise_add(b.context, C.CUdeviceptr(t.address), C.CUdeviceptr(s.address), C.int64_t(t.span))
	})
}

// counting makes a call into C and tells the device what it launched.
func (b *binding) counting(call func() C.CUresult) error {
	err := b.result(call())
	now := [2]int64{int64(b.context.kernel_launches), int64(b.context.graph_launches)}
	b.stage.device.count(func(c *device.Counters) {
		c.KernelLaunches += now[0] - b.counted[0]
		c.GraphLaunches += now[1] - b.counted[1]
	})
	b.counted = now
	return err
}
