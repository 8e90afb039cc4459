package host

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

func TestFreshMemory(t *testing.T) {
	d := Open(Options{})
	s, err := d.Load(smallStage(), device.FP32)
	require.NoError(t, err)
	value := make([]float64, 108)
	require.NoError(t, s.Parameter(0).ReadFloat64(value))
	require.Equal(t, make([]float64, 108), value, "persistent memory starts as zero")
	b, err := s.Bind(ir.Sizes{Batch: 1, Height: 2, Width: 2})
	require.NoError(t, err)
	for _, x := range []device.Tensor{b.Input(0), b.Output(0), b.Cotangent(0), b.InputGradient(0)} {
		values := make([]float64, device.Elements(x.Shape()))
		require.NoError(t, x.ReadFloat64(values))
		for _, v := range values {
			require.True(t, math.IsNaN(v), "%s starts as NaN", x.Name())
		}
	}
	require.NoError(t, b.Run(forward))
	values := make([]float64, 16)
	require.NoError(t, b.Output(0).ReadFloat64(values))
	require.True(t, math.IsNaN(values[0]), "an input that was never written shows")
	require.NoError(t, b.Close())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}

// Storages whose places meet share memory, others do not, and all start at
// multiples of 64 bytes.
func TestArena(t *testing.T) {
	s := &ir.Stage{Name: "arena"}
	sizes := []int{3, 20, 17, 5, 9, 1}
	for i, st := range []ir.Storage{
		{Name: "a", Elem: ir.Activation, Place: ir.Place{From: 0, To: 3}},
		{Name: "b", Elem: ir.Activation, Place: ir.Place{From: 3, To: 23}},
		{Name: "c", Elem: ir.Activation, Place: ir.Place{From: 3, To: 20}},
		{Name: "d", Elem: ir.Index, Place: ir.Place{From: 0, To: 5}},
		{Name: "e", Elem: ir.Counter, Place: ir.Place{From: 0, To: 9}},
		{Name: "f", Elem: ir.Master, Place: ir.Place{From: 0, To: 1}},
	} {
		st.Space, st.Size = ir.Arena, ir.Const(sizes[i])
		s.AddStorage(st)
	}
	m := newMemory[float32](s)
	require.NoError(t, m.arenas(s, sizes))
	at := func(i int) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(m.floats[i]))) }
	require.Equal(t, at(1), at(2), "places that meet")
	require.Equal(t, uintptr(16*4), at(1)-at(0), "3 floats take a line of 64 bytes")
	require.Equal(t, uintptr(32*4), at(5)-at(1), "20 floats take two, floats of another kind lie above")
	for i, n := range []int{3, 20, 17} {
		require.Len(t, m.floats[i], n)
		require.True(t, math.IsNaN(float64(m.floats[i][n-1])))
	}
	require.Len(t, m.indices[3], 5)
	require.Len(t, m.counters[4], 9)
	require.Equal(t, int64((16+32+1)*4+5*4+9*8), m.bytes)
}
