package host

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// arenaAlignment is the alignment of storages in the arena in bytes: a cache line.
const arenaAlignment = 64

// memory holds the storages of one owner, each in the slice of its Go type.
// Storages of other owners are empty.
type memory[T device.Float] struct {
	floats   [][]T
	indices  [][]int32
	counters [][]int64
	bytes    int64
}

func newMemory[T device.Float](plan *ir.Stage) *memory[T] {
	n := len(plan.Storages)
	return &memory[T]{floats: make([][]T, n), indices: make([][]int32, n), counters: make([][]int64, n)}
}

// allocate gives storage i memory of its own.
func (m *memory[T]) allocate(i int, st *ir.Storage, size int) error {
	switch st.Elem {
	case ir.Activation, ir.Master:
		m.floats[i] = newSlice[T](&m.bytes, size)
	case ir.Index:
		m.indices[i] = newSlice[int32](&m.bytes, size)
	case ir.Counter:
		m.counters[i] = newSlice[int64](&m.bytes, size)
	default:
		return fmt.Errorf("storage %s: unknown element %q", st.Name, st.Elem)
	}
	return nil
}

func newSlice[E element](bytes *int64, size int) []E {
	*bytes += int64(size) * sizeOf[E]()
	return make([]E, size)
}

func sizeOf[E element]() int64 {
	var e E
	return int64(unsafe.Sizeof(e))
}

// poison marks floats as never written.
func poison[T device.Float](s []T) {
	for i := range s {
		s[i] = T(math.NaN())
	}
}

// arenas places every storage of Space Arena of a plan, integers apart from floats.
func (m *memory[T]) arenas(plan *ir.Stage, sizes []int) error {
	n := len(plan.Storages)
	counts, offsets := make([]int64, n), make([]int64, n)
	for i, size := range sizes {
		counts[i] = int64(size)
	}
	stack := func(elem ir.Element, base, bytes int64) int64 {
		return plan.Stack(elem, base, arenaAlignment/bytes, counts, offsets)
	}
	float := sizeOf[T]()
	floats := newSlice[T](&m.bytes, int(stack(ir.Master, stack(ir.Activation, 0, float), float)))
	indices := newSlice[int32](&m.bytes, int(stack(ir.Index, 0, sizeOf[int32]())))
	counters := newSlice[int64](&m.bytes, int(stack(ir.Counter, 0, sizeOf[int64]())))
	poison(floats)
	for i := range plan.Storages {
		st := &plan.Storages[i]
		if st.Space != ir.Arena {
			continue
		}
		switch st.Elem {
		case ir.Activation, ir.Master:
			m.floats[i] = floats[offsets[i]:][:sizes[i]]
		case ir.Index:
			m.indices[i] = indices[offsets[i]:][:sizes[i]]
		case ir.Counter:
			m.counters[i] = counters[offsets[i]:][:sizes[i]]
		default:
			return fmt.Errorf("storage %s: unknown element %q", st.Name, st.Elem)
		}
	}
	return nil
}
