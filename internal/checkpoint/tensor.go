// Package checkpoint stores a fit in one safetensors file and reads it back.
//
// The raw model lies under its state-entry names; the moving average, the
// momentum buffers and the gradients of an open accumulation window lie under
// the same names behind a family prefix; everything else is JSON in the file's
// metadata. The bytes depend on the state of the fit alone: not on the order in
// which tensors are given, not on the recording options, not on the path.
package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nlpodyssey/safetensors"

	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Tensor is a named, row-major tensor of float32, float64 or int64 elements in
// its stored form. A scalar has an empty shape and one element.
type Tensor struct {
	Name  string
	shape []uint64
	dtype safetensors.DType
	data  []byte // little-endian
}

// Float stores a copy of a floating-point tensor.
func Float[T device.Float](name string, shape []int, value []T) Tensor {
	t := newTensor(name, shape)
	switch value := any(value).(type) {
	case []float32:
		t.dtype, t.data = safetensors.F32, make([]byte, 0, 4*len(value))
		for _, v := range value {
			t.data = binary.LittleEndian.AppendUint32(t.data, math.Float32bits(v))
		}
	case []float64:
		t.dtype, t.data = safetensors.F64, make([]byte, 0, 8*len(value))
		for _, v := range value {
			t.data = binary.LittleEndian.AppendUint64(t.data, math.Float64bits(v))
		}
	}
	return t
}

// Integer stores a copy of an integer tensor, such as a batch counter.
func Integer(name string, shape []int, value []int64) Tensor {
	t := newTensor(name, shape)
	t.dtype, t.data = safetensors.I64, make([]byte, 0, 8*len(value))
	for _, v := range value {
		t.data = binary.LittleEndian.AppendUint64(t.data, uint64(v))
	}
	return t
}

func newTensor(name string, shape []int) Tensor {
	// A nil slice would be written as a JSON null.
	t := Tensor{Name: name, shape: make([]uint64, len(shape))}
	for i, d := range shape {
		t.shape[i] = uint64(d)
	}
	return t
}

// Floats stores copies of floating-point tensors.
func Floats[T device.Float](tensors []optim.Tensor[T]) []Tensor {
	stored := make([]Tensor, len(tensors))
	for i, t := range tensors {
		stored[i] = Float(t.Name, t.Shape, t.Value)
	}
	return stored
}

// FloatTensors is the inverse of Floats. A float32 tensor reads exactly as
// float64; a float64 or integer tensor does not read as float32, and is an error.
func FloatTensors[T device.Float](tensors []Tensor) ([]optim.Tensor[T], error) {
	values := make([]optim.Tensor[T], len(tensors))
	for i, t := range tensors {
		value, err := floats[T](t)
		if err != nil {
			return nil, err
		}
		values[i] = optim.Tensor[T]{Name: t.Name, Shape: t.Shape(), Value: value}
	}
	return values, nil
}

// Rounded gives tensors for a network in the precision of T: one of more precision
// has its elements rounded to the nearest, all others are as they were. It is for
// evaluation and for new fits; a resumed fit needs every bit.
func Rounded[T device.Float](tensors []Tensor) []Tensor {
	rounded := slices.Clone(tensors)
	var zero T
	if _, single := any(zero).(float32); !single {
		return rounded
	}
	for i, t := range rounded {
		if t.dtype != safetensors.F64 {
			continue
		}
		value := make([]float32, len(t.data)/8)
		for k := range value {
			value[k] = float32(math.Float64frombits(binary.LittleEndian.Uint64(t.data[8*k:])))
		}
		rounded[i] = Float(t.Name, t.Shape(), value)
	}
	return rounded
}

// Shape returns a copy of the dimensions.
func (t Tensor) Shape() []int {
	shape := make([]int, len(t.shape))
	for i, d := range t.shape {
		shape[i] = int(d)
	}
	return shape
}

// IsFloat reports a floating-point tensor, the kind that has a moving average.
func (t Tensor) IsFloat() bool { return t.dtype == safetensors.F32 || t.dtype == safetensors.F64 }

// floats reads a tensor exactly as elements of T.
func floats[T device.Float](t Tensor) ([]T, error) {
	var zero T
	_, single := any(zero).(float32)
	if !t.IsFloat() || (single && t.dtype != safetensors.F32) {
		return nil, fmt.Errorf("tensor %q is stored as %s, which %T cannot hold exactly; use the precision it was trained in", t.Name, t.dtype, zero)
	}
	value := make([]T, len(t.data)/int(t.dtype.Size()))
	for i := range value {
		if t.dtype == safetensors.F32 {
			value[i] = T(math.Float32frombits(binary.LittleEndian.Uint32(t.data[4*i:])))
		} else {
			value[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(t.data[8*i:])))
		}
	}
	return value, nil
}

// integers reads an integer tensor.
func integers(t Tensor) ([]int64, error) {
	if t.dtype != safetensors.I64 {
		return nil, fmt.Errorf("tensor %q is stored as %s; a counter needs I64", t.Name, t.dtype)
	}
	value := make([]int64, len(t.data)/8)
	for i := range value {
		value[i] = int64(binary.LittleEndian.Uint64(t.data[8*i:]))
	}
	return value, nil
}

// check reports a tensor that the file format or a reader would refuse.
func (t Tensor) check() error {
	if t.Name == "" {
		return fmt.Errorf("a tensor of shape %v has no name", t.shape)
	}
	if t.dtype != safetensors.F32 && t.dtype != safetensors.F64 && t.dtype != safetensors.I64 {
		return fmt.Errorf("tensor %q is stored as %s; a checkpoint holds F32, F64 and I64 alone, so convert the tensor to F32", t.Name, t.dtype)
	}
	size := uint64(1)
	for _, d := range t.shape {
		if d == 0 || d > math.MaxInt || size > math.MaxInt/8/d {
			return fmt.Errorf("tensor %q has shape %v; every dimension must be positive and the size representable", t.Name, t.shape)
		}
		size *= d
	}
	if size*t.dtype.Size() != uint64(len(t.data)) {
		return fmt.Errorf("tensor %q has shape %v and %d bytes of %s", t.Name, t.shape, len(t.data), t.dtype)
	}
	return nil
}

// sorted returns the tensors in the order of their names.
func sorted(tensors []Tensor) []Tensor {
	ordered := slices.Clone(tensors)
	slices.SortFunc(ordered, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	return ordered
}

// view presents a tensor to the safetensors writer. The library's own view
// refuses scalars.
type view struct{ tensor Tensor }

func (v view) DType() safetensors.DType { return v.tensor.dtype }
func (v view) Shape() []uint64          { return v.tensor.shape }
func (v view) Data() []byte             { return v.tensor.data }
func (v view) DataLen() uint64          { return uint64(len(v.tensor.data)) }
