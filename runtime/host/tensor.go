package host

import (
	"errors"
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/runtime/device"
)

// tensor implements device.Tensor for elements of one Go type.
type tensor[E element] struct {
	device *Device
	name   string
	view   view[E]
	walk   *loops // in row-major order of the shape
}

func newTensor[E element](d *Device, name string, v view[E]) *tensor[E] {
	return &tensor[E]{device: d, name: name, view: v, walk: walkLogical(v.shape, v.strides)}
}

// Slice gives direct access to the elements of a host tensor of type T that
// lie in row-major order of its shape without gaps; ok is false for any other
// tensor. The slice is the tensor's memory, not a copy: it may be used until
// the binding or stage that owns the tensor is closed.
func Slice[T device.Float](t device.Tensor) (elements []T, ok bool) {
	h, ok := t.(*tensor[T])
	if !ok || !h.view.rowMajor() {
		return nil, false
	}
	return h.view.data[:h.view.elements()], true
}

// Name implements device.Tensor.
func (t *tensor[E]) Name() string { return t.name }

// Shape implements device.Tensor.
func (t *tensor[E]) Shape() []int { return append([]int(nil), t.view.shape...) }

// Type implements device.Tensor.
func (t *tensor[E]) Type() device.Type {
	switch any(*new(E)).(type) {
	case float32:
		return device.TypeFloat32
	case float64:
		return device.TypeFloat64
	case int32:
		return device.TypeInt32
	}
	return device.TypeInt64
}

// ReadFloat64 implements device.Tensor.
func (t *tensor[E]) ReadFloat64(dst []float64) error { return read(t, dst) }

// WriteFloat64 implements device.Tensor. Integer tensors take whole numbers
// in their range only.
func (t *tensor[E]) WriteFloat64(src []float64) error { return write(t, src) }

// ReadFloat32 implements device.Tensor.
func (t *tensor[E]) ReadFloat32(dst []float32) error { return read(t, dst) }

// WriteFloat32 implements device.Tensor. Integer tensors take whole numbers
// in their range only.
func (t *tensor[E]) WriteFloat32(src []float32) error { return write(t, src) }

// ReadInt64 implements device.Tensor. It fails for elements that are no whole
// numbers.
func (t *tensor[E]) ReadInt64(dst []int64) error { return read(t, dst) }

// WriteInt64 implements device.Tensor. It fails for values that do not fit.
func (t *tensor[E]) WriteInt64(src []int64) error { return write(t, src) }

// WriteImages implements device.Tensor.
func (t *tensor[E]) WriteImages(pixels []uint8, jitter []device.Jitter) error {
	s := t.view.shape
	if len(s) != 4 || s[1] != 3 {
		return fmt.Errorf("tensor %s has shape %v; images need (N, 3, H, W)", t.name, s)
	}
	if err := t.checkLength(len(pixels)); err != nil {
		return err
	}
	if err := device.CheckJitter(jitter, s[0]); err != nil {
		return fmt.Errorf("tensor %s: %w", t.name, err)
	}
	var values [256]E
	switch v := any(&values).(type) {
	case *[256]float32:
		for code := range v {
			v[code] = float32(code) / 255
		}
	case *[256]float64:
		for code := range v {
			v[code] = float64(code) / 255
		}
	default:
		return fmt.Errorf("tensor %s holds %s; images need floats", t.name, t.Type())
	}
	colors := make([]*device.Colors, len(jitter))
	for image, j := range jitter {
		colors[image] = j.Colors()
	}
	st := t.view.strides
	for p := 0; p < len(pixels); p += 3 {
		column, row := p/3%s[3], p/3/s[3]
		at := row/s[2]*st[0] + row%s[2]*st[2] + column*st[3]
		r, g, b := pixels[p], pixels[p+1], pixels[p+2]
		if jitter != nil {
			r, g, b = colors[row/s[2]].Pixel(r, g, b)
		}
		t.view.data[at], t.view.data[at+st[1]], t.view.data[at+2*st[1]] = values[r], values[g], values[b]
	}
	return nil
}

// CopyFrom implements device.Tensor. The layouts may differ, the element types
// may not.
func (t *tensor[E]) CopyFrom(src device.Tensor) error {
	s, err := t.sibling(src)
	if err != nil {
		return err
	}
	walk := walkMemory(t.view.shape, s.view.strides, t.view.strides)
	for task := range walk.tasks() {
		for c := walk.start(task); c.next(); {
			if walk.steps[0] == 1 && walk.steps[1] == 1 {
				copy(t.view.data[c.offset[1]:][:c.n], s.view.data[c.offset[0]:])
				continue
			}
			for i := range c.n {
				t.view.data[c.offset[1]+i*walk.steps[1]] = s.view.data[c.offset[0]+i*walk.steps[0]]
			}
		}
	}
	return nil
}

// Add implements device.Tensor. The layouts may differ, the element types may
// not.
func (t *tensor[E]) Add(src device.Tensor) error {
	s, err := t.sibling(src)
	if err != nil {
		return err
	}
	walk := walkMemory(t.view.shape, s.view.strides, t.view.strides)
	for task := range walk.tasks() {
		for c := walk.start(task); c.next(); {
			for i := range c.n {
				t.view.data[c.offset[1]+i*walk.steps[1]] += s.view.data[c.offset[0]+i*walk.steps[0]]
			}
		}
	}
	return nil
}

// sibling gives a tensor of the same type, device and shape as t.
func (t *tensor[E]) sibling(src device.Tensor) (*tensor[E], error) {
	s, ok := src.(*tensor[E])
	switch {
	case src == nil:
		return nil, fmt.Errorf("tensor %s: nothing to copy from", t.name)
	case !ok:
		return nil, fmt.Errorf("tensor %s holds %s on the host and cannot be copied from %s, which holds %s or is on another device", t.name, t.Type(), src.Name(), src.Type())
	case s.device != t.device:
		return nil, errors.New("tensors " + t.name + " and " + s.name + " are on different devices")
	case !slices.Equal(s.view.shape, t.view.shape):
		return nil, fmt.Errorf("tensor %s of shape %v cannot be copied from %s of shape %v", t.name, t.view.shape, s.name, s.view.shape)
	}
	return s, nil
}

// Zero implements device.Tensor.
func (t *tensor[E]) Zero() error {
	for task := range t.walk.tasks() {
		for c := t.walk.start(task); c.next(); {
			for i := range c.n {
				t.view.data[c.offset[0]+i*t.walk.steps[0]] = 0
			}
		}
	}
	return nil
}

func (t *tensor[E]) checkLength(n int) error {
	if want := t.view.elements(); n != want {
		return fmt.Errorf("tensor %s of shape %v has %d elements, not %d", t.name, t.view.shape, want, n)
	}
	return nil
}
