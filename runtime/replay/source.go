package replay

import (
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Source is where the values of an input or a cotangent come from. The zero
// Source is absent, which for a cotangent means that the objective did not use
// the output. A Source is always copied into the static memory of the stage, so
// the caller may reuse or move its own memory as soon as the call returns.
type Source struct {
	shape   []int
	strides []int // elements; nil when contiguous
	float32 []float32
	float64 []float64
	pixels  []uint8
	jitter  []device.Jitter // of each image; nil for none
	tensor  device.Tensor
}

// Float32s takes the values of a logical shape, row-major.
func Float32s(values []float32, shape ...int) Source {
	return Source{float32: values, shape: shape}
}

// Float64s takes the values of a logical shape, row-major.
func Float64s(values []float64, shape ...int) Source {
	return Source{float64: values, shape: shape}
}

// Images takes 8-bit pixels stored N, H, W, RGB as a map (batch, 3, height,
// width); each becomes code/255.
func Images(pixels []uint8, batch, height, width int) Source {
	return Source{pixels: pixels, shape: []int{batch, 3, height, width}}
}

// WithJitter changes the colours of every image on the way to the device, which
// every device does to the same bits.
func (s Source) WithJitter(jitter []device.Jitter) Source {
	s.jitter = jitter
	return s
}

// FromTensor takes the values of a tensor of the same device, such as an output
// of another stage. A cotangent tensor of the stage itself, written by the
// objective in place, is used where it is.
func FromTensor(t device.Tensor) Source {
	if handle, isHandle := t.(*Tensor); t == nil || isHandle && handle == nil {
		return Source{}
	}
	return Source{tensor: t, shape: t.Shape()}
}

// WithStrides tells where the elements of a slice lie: element (i, j, ...) at
// i*strides[0] + j*strides[1] + .... Strides are not negative.
func (s Source) WithStrides(strides ...int) Source {
	s.strides = strides
	return s
}

// Present tells whether the Source has values.
func (s Source) Present() bool {
	return s.float32 != nil || s.float64 != nil || s.pixels != nil || s.tensor != nil
}

// kind names the element type and where it comes from, for signatures.
func (s Source) kind() string {
	switch {
	case s.float32 != nil:
		return "float32"
	case s.float64 != nil:
		return "float64"
	case s.pixels != nil:
		return "uint8"
	case s.tensor != nil:
		return "device " + string(s.tensor.Type())
	}
	return "absent"
}

// check finds values that do not fill the shape, before anything is copied.
func (s Source) check() error {
	if s.jitter != nil && s.pixels == nil {
		return fmt.Errorf("a jitter was given for values that are no 8-bit pixels; leave it out")
	}
	for _, d := range s.shape {
		if d < 0 {
			return fmt.Errorf("shape %v has a negative size; give the sizes of the values", s.shape)
		}
	}
	wanted := device.Elements(s.shape)
	switch {
	case s.tensor != nil:
		if s.strides != nil {
			return fmt.Errorf("strides were given for a device tensor, which has its own; leave them out")
		}
		return nil
	case s.pixels != nil:
		if s.strides != nil {
			return fmt.Errorf("strides were given for 8-bit pixels, which are stored N, H, W, RGB; leave them out")
		}
		if err := device.CheckJitter(s.jitter, s.shape[0]); err != nil {
			return err
		}
		return sameCount(len(s.pixels), wanted, s.shape)
	case s.strides == nil:
		return sameCount(max(len(s.float32), len(s.float64)), wanted, s.shape)
	}
	return s.checkStrides(max(len(s.float32), len(s.float64)))
}

func sameCount(have, wanted int, shape []int) error {
	if have != wanted {
		return fmt.Errorf("%d values for shape %v, which has %d; give one value per element", have, shape, wanted)
	}
	return nil
}

func (s Source) checkStrides(have int) error {
	if len(s.strides) != len(s.shape) {
		return fmt.Errorf("%d strides for %d sizes; give one per size", len(s.strides), len(s.shape))
	}
	last := 0
	for i, stride := range s.strides {
		if stride < 0 {
			return fmt.Errorf("strides %v: %d is negative; only forward strides can be read", s.strides, stride)
		}
		if s.shape[i] == 0 {
			return nil
		}
		last += (s.shape[i] - 1) * stride
	}
	if last >= have {
		return fmt.Errorf("shape %v with strides %v reaches element %d of %d; give a longer slice or other strides", s.shape, s.strides, last, have)
	}
	return nil
}

// layout gives the strides unless they are those of contiguous values, so that
// equal layouts compare equal.
func (s Source) layout() []int {
	step, contiguous := 1, true
	for i := len(s.strides) - 1; i >= 0; i-- {
		contiguous = contiguous && (s.strides[i] == step || s.shape[i] == 1)
		step *= s.shape[i]
	}
	if contiguous {
		return nil
	}
	return s.strides
}

// CopyTo writes the values into a tensor of the same shape, such as the memory
// for a cotangent.
func (s Source) CopyTo(t *Tensor) error {
	if err := s.check(); err != nil {
		return err
	}
	if shape := t.Shape(); !slices.Equal(s.shape, shape) {
		return fmt.Errorf("%s has shape %v, the values have %v", t.Name(), shape, s.shape)
	}
	inner, err := t.writable()
	if err != nil {
		return err
	}
	return s.copyTo(inner)
}

// copyTo moves the values to a static tensor of the same shape.
func (s Source) copyTo(static device.Tensor) error {
	switch {
	case s.pixels != nil:
		return static.WriteImages(s.pixels, s.jitter)
	case s.float32 != nil:
		return device.Write(static, gather(s.float32, s.shape, s.layout()))
	case s.float64 != nil:
		return device.Write(static, gather(s.float64, s.shape, s.layout()))
	}
	from, err := underlying(s.tensor)
	if err != nil {
		return err
	}
	if from == static {
		return nil
	}
	return static.CopyFrom(from)
}

// gather gives the values in row-major order; values that already are so are
// not copied.
func gather[T device.Float](values []T, shape, strides []int) []T {
	if strides == nil {
		return values[:device.Elements(shape)]
	}
	out := make([]T, 0, device.Elements(shape))
	index := make([]int, len(shape))
	for len(out) < cap(out) {
		at := 0
		for i, x := range index {
			at += x * strides[i]
		}
		out = append(out, values[at])
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < shape[i] {
				break
			}
			index[i] = 0
		}
	}
	return out
}
