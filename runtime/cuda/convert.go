//go:build cuda

package cuda

import (
	"math"
	"unsafe"

	"github.com/reprise-ml/reprise/runtime/device"
)

// value is the set of Go types in which tensors are read and written.
type value interface {
	float32 | float64 | int64
}

// element is the set of Go types that memory is made of; uint16 stands for the
// two 16-bit floats.
type element interface {
	float32 | uint16 | int32 | int64
}

// unpack converts a span in memory to values in row-major order of the shape. It
// gives the position of the first element that the values cannot hold, or -1.
func unpack[V value](t *tensor, memory unsafe.Pointer, dst []V) (bad int) {
	switch device.Type(t.typ) {
	case device.TypeInt32:
		return gather(t, slice[int32](t, memory), dst, func(e int32) (V, bool) { return V(e), true })
	case device.TypeInt64:
		return gather(t, slice[int64](t, memory), dst, func(e int64) (V, bool) { return V(e), true })
	case device.TypeFloat16:
		table := halfTable()
		return gather(t, slice[uint16](t, memory), dst, func(e uint16) (V, bool) { return fromFloat[V](table[e]) })
	case device.TypeBFloat16:
		return gather(t, slice[uint16](t, memory), dst, func(e uint16) (V, bool) { return fromFloat[V](floatFromBFloat16(e)) })
	}
	floats := slice[float32](t, memory)
	if same, ok := any(dst).([]float32); ok && t.rowMajor() {
		copy(same, floats)
		return -1
	}
	return gather(t, floats, dst, fromFloat[V])
}

// pack is the inverse of unpack.
func pack[V value](t *tensor, memory unsafe.Pointer, src []V) (bad int) {
	switch device.Type(t.typ) {
	case device.TypeInt32:
		return scatter(t, slice[int32](t, memory), src, func(v V) (int32, bool) {
			w, ok := whole(v)
			return int32(w), ok && int64(int32(w)) == w
		})
	case device.TypeInt64:
		return scatter(t, slice[int64](t, memory), src, whole[V])
	case device.TypeFloat16:
		return scatter(t, slice[uint16](t, memory), src, func(v V) (uint16, bool) { return halfFromFloat(float32(v)), true })
	case device.TypeBFloat16:
		return scatter(t, slice[uint16](t, memory), src, func(v V) (uint16, bool) { return bfloat16FromFloat(float32(v)), true })
	}
	floats := slice[float32](t, memory)
	if same, ok := any(src).([]float32); ok && t.rowMajor() {
		copy(floats, same)
		return -1
	}
	return scatter(t, floats, src, func(v V) (float32, bool) { return float32(v), true })
}

// fromFloat converts a float; integers hold whole numbers only.
func fromFloat[V value](f float32) (V, bool) {
	v := V(f)
	if _, integer := any(v).(int64); integer {
		w, ok := whole(f)
		return V(w), ok
	}
	return v, true
}

// whole gives a number as an integer if it is one that 64 bits hold.
func whole[V value](v V) (int64, bool) {
	if w, ok := any(v).(int64); ok {
		return w, true
	}
	f := float64(v)
	if !(f >= -1<<63 && f < 1<<63) || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// slice sees the staged span of a tensor as elements of a Go type.
func slice[E element](t *tensor, memory unsafe.Pointer) []E {
	return unsafe.Slice((*E)(memory), t.span)
}

func gather[E element, V value](t *tensor, src []E, dst []V, convert func(E) (V, bool)) (bad int) {
	return t.rows(func(position, at, n, step int) int {
		for i := range n {
			v, ok := convert(src[at+i*step])
			if !ok {
				return position + i
			}
			dst[position+i] = v
		}
		return -1
	})
}

func scatter[E element, V value](t *tensor, dst []E, src []V, convert func(V) (E, bool)) (bad int) {
	return t.rows(func(position, at, n, step int) int {
		for i := range n {
			e, ok := convert(src[position+i])
			if !ok {
				return position + i
			}
			dst[at+i*step] = e
		}
		return -1
	})
}

// rows visits the rows of the last dimension in row-major order: the position of
// their first element in that order and in memory, their length, and the step in
// memory from one element to the next. It ends when visit does not return -1.
func (t *tensor) rows(visit func(position, at, n, step int) int) (bad int) {
	n, step, outer := 1, 1, t.shape
	if last := len(t.shape) - 1; last >= 0 {
		n, step, outer = t.shape[last], t.strides[last], t.shape[:last]
	}
	index := make([]int, len(outer))
	at := 0
	for position := 0; ; position += n {
		if bad := visit(position, at, n, step); bad >= 0 {
			return bad
		}
		axis := len(outer) - 1
		for ; axis >= 0; axis-- {
			index[axis]++
			at += t.strides[axis]
			if index[axis] < outer[axis] {
				break
			}
			at -= index[axis] * t.strides[axis]
			index[axis] = 0
		}
		if axis < 0 {
			return -1
		}
	}
}

// rowMajor tells whether the elements lie in row-major order without gaps.
func (t *tensor) rowMajor() bool {
	step := 1
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] != 1 && t.strides[i] != step {
			return false
		}
		step *= t.shape[i]
	}
	return true
}
