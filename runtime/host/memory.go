package host

import (
	"fmt"
	"math"
	"sort"
	"unsafe"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// arenaAlignment is the alignment of arena slots in bytes: a cache line.
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

// arena places storages that take turns in slots of one slice.
type arena[E element] struct {
	sizes map[int]int // elements by slot
}

// reserve makes a slot at least size elements long.
func (a *arena[E]) reserve(slot, size int) {
	if a.sizes == nil {
		a.sizes = make(map[int]int)
	}
	a.sizes[slot] = max(a.sizes[slot], size)
}

// build allocates the arena; offsets are the running sums over the slots in
// ascending order, each rounded up to arenaAlignment.
func (a *arena[E]) build(bytes *int64) (data []E, offsets map[int]int) {
	slots := make([]int, 0, len(a.sizes))
	for s := range a.sizes {
		slots = append(slots, s)
	}
	sort.Ints(slots)
	unit := int(arenaAlignment / sizeOf[E]())
	offsets = make(map[int]int, len(slots))
	total := 0
	for _, s := range slots {
		offsets[s] = total
		total += (a.sizes[s] + unit - 1) / unit * unit
	}
	return newSlice[E](bytes, total), offsets
}

// arenas places every storage of Space Arena of a plan.
func (m *memory[T]) arenas(plan *ir.Stage, sizes []int) error {
	var floats arena[T]
	var indices arena[int32]
	var counters arena[int64]
	for i := range plan.Storages {
		st := &plan.Storages[i]
		if st.Space != ir.Arena {
			continue
		}
		switch st.Elem {
		case ir.Activation, ir.Master:
			floats.reserve(st.Slot, sizes[i])
		case ir.Index:
			indices.reserve(st.Slot, sizes[i])
		case ir.Counter:
			counters.reserve(st.Slot, sizes[i])
		default:
			return fmt.Errorf("storage %s: unknown element %q", st.Name, st.Elem)
		}
	}
	floatData, floatAt := floats.build(&m.bytes)
	poison(floatData)
	indexData, indexAt := indices.build(&m.bytes)
	counterData, counterAt := counters.build(&m.bytes)
	for i := range plan.Storages {
		st := &plan.Storages[i]
		if st.Space != ir.Arena {
			continue
		}
		switch st.Elem {
		case ir.Index:
			m.indices[i] = indexData[indexAt[st.Slot]:][:sizes[i]]
		case ir.Counter:
			m.counters[i] = counterData[counterAt[st.Slot]:][:sizes[i]]
		default:
			m.floats[i] = floatData[floatAt[st.Slot]:][:sizes[i]]
		}
	}
	return nil
}
