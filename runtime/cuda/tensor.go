//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/cu"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// tensor implements device.Tensor: a strided view of a storage.
type tensor struct {
	device  *Device
	name    string
	typ     elementType
	shape   []int
	strides []int
	address cu.DevicePtr // of the first element
	span    int          // elements in memory from the first to the last
	binding *binding     // whose kernels work on the tensor; nil for a stage's own
}

// openTensor opens the tensor that ref names under the name of its table. base
// is where its storage starts and bytes how long that is.
func openTensor(d *Device, plan *ir.Stage, precision device.Precision, name string, ref ir.Ref, sizes ir.Sizes, base cu.DevicePtr, bytes int64) (*tensor, error) {
	view := plan.Tensor(ref)
	if view.Storage == 0 {
		return nil, fmt.Errorf("tensor %s of %s has no storage", view.Name, name)
	}
	t := &tensor{device: d, name: name, typ: typeOf(plan.StorageOf(ref).Elem, precision), span: 1}
	offset, err := view.Offset.Eval(sizes)
	if err != nil {
		return nil, fmt.Errorf("offset of %s: %w", view.Name, err)
	}
	for i := range view.Shape {
		n, err := view.Shape[i].Eval(sizes)
		if err != nil {
			return nil, fmt.Errorf("shape of %s: %w", view.Name, err)
		}
		step, err := view.Strides[i].Eval(sizes)
		if err != nil {
			return nil, fmt.Errorf("strides of %s: %w", view.Name, err)
		}
		t.shape, t.strides = append(t.shape, n), append(t.strides, step)
		t.span += (n - 1) * step
	}
	unit := t.typ.bytes()
	if slices.Contains(t.shape, 0) || int64(offset+t.span)*unit > bytes {
		return nil, fmt.Errorf("tensor %s of shape %v, strides %v and offset %d does not fit its storage of %d elements", view.Name, t.shape, t.strides, offset, bytes/unit)
	}
	t.address = base + cu.DevicePtr(int64(offset)*unit)
	return t, nil
}

// Name implements device.Tensor.
func (t *tensor) Name() string { return t.name }

// Shape implements device.Tensor.
func (t *tensor) Shape() []int { return slices.Clone(t.shape) }

// Type implements device.Tensor.
func (t *tensor) Type() device.Type { return device.Type(t.typ) }

// ReadFloat64 implements device.Tensor.
func (t *tensor) ReadFloat64(dst []float64) error { return read(t, dst) }

// WriteFloat64 implements device.Tensor. Integer tensors take whole numbers in
// their range only; floats are rounded to FP32 first, then to 16 bits.
func (t *tensor) WriteFloat64(src []float64) error { return write(t, src) }

// ReadFloat32 implements device.Tensor.
func (t *tensor) ReadFloat32(dst []float32) error { return read(t, dst) }

// WriteFloat32 implements device.Tensor. Integer tensors take whole numbers in
// their range only.
func (t *tensor) WriteFloat32(src []float32) error { return write(t, src) }

// ReadInt64 implements device.Tensor. It fails for elements that are no whole
// numbers.
func (t *tensor) ReadInt64(dst []int64) error { return read(t, dst) }

// WriteInt64 implements device.Tensor. It fails for values that do not fit.
func (t *tensor) WriteInt64(src []int64) error { return write(t, src) }

// WriteImages implements device.Tensor. The pixels are changed and converted on the
// device.
func (t *tensor) WriteImages(pixels []uint8, jitter []device.Jitter) error {
	if len(t.shape) != 4 || t.shape[1] != 3 {
		return fmt.Errorf("tensor %s has shape %v; images need (N, 3, H, W)", t.name, t.shape)
	}
	if err := t.checkLength(len(pixels)); err != nil {
		return err
	}
	if err := device.CheckJitter(jitter, t.shape[0]); err != nil {
		return fmt.Errorf("tensor %s: %w", t.name, err)
	}
	if t.binding == nil || !t.binding.takesImages() || t.typ != t.binding.activation() {
		return fmt.Errorf("tensor %s belongs to a stage without an input of images (N, 3, H, W)", t.name)
	}
	return t.device.thread.do(func() error { return t.binding.writeImages(t, pixels, jitter) })
}

// CopyFrom implements device.Tensor. The layouts may differ, the element types
// may not. Tensors of one layout are copied on the device; others pass through
// the host.
func (t *tensor) CopyFrom(src device.Tensor) error {
	s, err := t.partner(src)
	switch {
	case err != nil:
		return err
	case t.sameMemory(s):
		return t.device.thread.do(func() error {
			return wrap("copy to "+t.name, cu.MemcpyDtoDAsync(t.address, s.address, t.bytes(), t.device.stream))
		})
	case t.typ.integer():
		return through[int64](s, t)
	}
	return through[float32](s, t)
}

// Add implements device.Tensor. Activations of one layout are added on the
// device; other tensors pass through the host.
func (t *tensor) Add(src device.Tensor) error {
	s, err := t.partner(src)
	switch {
	case err != nil:
		return err
	case t.sameMemory(s) && t.binding != nil && t.typ == t.binding.activation():
		return t.device.thread.do(func() error { return t.binding.add(t, s) })
	case t.typ.integer():
		return sum[int64](s, t)
	}
	return sum[float32](s, t)
}

// partner checks that a tensor can be copied to t or added to it.
func (t *tensor) partner(src device.Tensor) (*tensor, error) {
	if src == nil {
		return nil, fmt.Errorf("tensor %s: nothing to copy from", t.name)
	}
	s, ok := src.(*tensor)
	switch {
	case !ok || s.typ != t.typ:
		return nil, fmt.Errorf("tensor %s holds %s and cannot be copied from %s, which holds %s or is on another device", t.name, t.Type(), src.Name(), src.Type())
	case s.device != t.device:
		return nil, errors.New("tensors " + t.name + " and " + s.name + " are on different devices")
	case !slices.Equal(s.shape, t.shape):
		return nil, fmt.Errorf("tensor %s of shape %v cannot be copied from %s of shape %v", t.name, t.shape, s.name, s.shape)
	}
	return s, nil
}

// sameMemory tells whether equal bytes in memory mean equal tensors.
func (t *tensor) sameMemory(s *tensor) bool { return slices.Equal(s.strides, t.strides) && t.dense() }

// through copies by way of the host; V holds every value of the element type.
func through[V value](s, t *tensor) error {
	values := make([]V, device.Elements(t.shape))
	if err := read(s, values); err != nil {
		return err
	}
	return write(t, values)
}

// sum adds by way of the host.
func sum[V float32 | int64](s, t *tensor) error {
	values, more := make([]V, device.Elements(t.shape)), make([]V, device.Elements(t.shape))
	if err := errors.Join(read(t, values), read(s, more)); err != nil {
		return err
	}
	for i, v := range more {
		values[i] += v
	}
	return write(t, values)
}

// Zero implements device.Tensor.
func (t *tensor) Zero() error {
	if !t.dense() {
		return write(t, make([]float32, device.Elements(t.shape)))
	}
	return t.device.thread.do(func() error {
		return wrap("clear "+t.name, cu.MemsetD8Async(t.address, 0, t.bytes(), t.device.stream))
	})
}

// dense tells whether the tensor's elements fill their span of memory.
func (t *tensor) dense() bool { return device.Elements(t.shape) == t.span }

// bytes of the span.
func (t *tensor) bytes() int64 { return int64(t.span) * t.typ.bytes() }

func (t *tensor) checkLength(n int) error {
	if want := device.Elements(t.shape); n != want {
		return fmt.Errorf("tensor %s of shape %v has %d elements, not %d", t.name, t.shape, want, n)
	}
	return nil
}
