package replay

import (
	"fmt"

	"github.com/reprise-ml/reprise/runtime/device"
)

// life is how long handles stay valid: until the number has moved on.
type life struct {
	now   uint64
	until string // what ends it, for messages
}

func (l *life) end() { l.now++ }

// Tensor is a handle on device memory of a stage that knows how long its
// content is what the caller asked for. Every use after that is an error, so
// that a kept output or gradient can never change under its owner.
// It implements device.Tensor.
type Tensor struct {
	inner    device.Tensor
	life     *life
	born     uint64
	readOnly bool
}

func newTensor(inner device.Tensor, l *life, readOnly bool) *Tensor {
	if inner == nil {
		return nil
	}
	return &Tensor{inner: inner, life: l, born: l.now, readOnly: readOnly}
}

// Device gives the device's own tensor, for code that launches kernels on it.
// The caller must not keep it past the step.
func (t *Tensor) Device() (device.Tensor, error) {
	if t.born != t.life.now {
		return nil, fmt.Errorf("%s: this handle ended with %s; copy what must be kept, or ask again", t.inner.Name(), t.life.until)
	}
	return t.inner, nil
}

func (t *Tensor) writable() (device.Tensor, error) {
	if t.readOnly {
		return nil, fmt.Errorf("%s is an output and cannot be written; copy it first", t.inner.Name())
	}
	return t.Device()
}

// Name is the name of the tensor in the plan.
func (t *Tensor) Name() string { return t.inner.Name() }

// Shape is the logical shape.
func (t *Tensor) Shape() []int { return t.inner.Shape() }

// Type is the element type in memory.
func (t *Tensor) Type() device.Type { return t.inner.Type() }

// ReadFloat64 copies the elements to dst, row-major.
func (t *Tensor) ReadFloat64(dst []float64) error {
	inner, err := t.Device()
	if err != nil {
		return err
	}
	return inner.ReadFloat64(dst)
}

// WriteFloat64 replaces the elements, row-major.
func (t *Tensor) WriteFloat64(src []float64) error {
	inner, err := t.writable()
	if err != nil {
		return err
	}
	return inner.WriteFloat64(src)
}

// ReadFloat32 copies the elements to dst, row-major.
func (t *Tensor) ReadFloat32(dst []float32) error {
	inner, err := t.Device()
	if err != nil {
		return err
	}
	return inner.ReadFloat32(dst)
}

// WriteFloat32 replaces the elements, row-major.
func (t *Tensor) WriteFloat32(src []float32) error {
	inner, err := t.writable()
	if err != nil {
		return err
	}
	return inner.WriteFloat32(src)
}

// ReadInt64 copies the elements to dst, row-major.
func (t *Tensor) ReadInt64(dst []int64) error {
	inner, err := t.Device()
	if err != nil {
		return err
	}
	return inner.ReadInt64(dst)
}

// WriteInt64 replaces the elements, row-major.
func (t *Tensor) WriteInt64(src []int64) error {
	inner, err := t.writable()
	if err != nil {
		return err
	}
	return inner.WriteInt64(src)
}

// WriteImages fills a map (N, 3, H, W) from 8-bit pixels stored N, H, W, RGB,
// with their colours changed by the jitter of each image; nil changes none.
func (t *Tensor) WriteImages(pixels []uint8, jitter []device.Jitter) error {
	inner, err := t.writable()
	if err != nil {
		return err
	}
	return inner.WriteImages(pixels, jitter)
}

// CopyFrom copies a tensor of the same shape on the same device.
func (t *Tensor) CopyFrom(src device.Tensor) error {
	inner, err := t.writable()
	if err != nil {
		return err
	}
	from, err := underlying(src)
	if err != nil {
		return err
	}
	return inner.CopyFrom(from)
}

// Add adds a tensor of the same shape, type and device.
func (t *Tensor) Add(src device.Tensor) error {
	inner, err := t.writable()
	if err != nil {
		return err
	}
	from, err := underlying(src)
	if err != nil {
		return err
	}
	return inner.Add(from)
}

// Zero sets every element to zero.
func (t *Tensor) Zero() error {
	inner, err := t.writable()
	if err != nil {
		return err
	}
	return inner.Zero()
}

// underlying gives the device's own tensor behind a handle that is still valid.
func underlying(t device.Tensor) (device.Tensor, error) {
	if handle, ok := t.(*Tensor); ok {
		return handle.Device()
	}
	return t, nil
}
