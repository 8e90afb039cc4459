package pass

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/cost"
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/tasks/obb"
)

// normalized is a stage whose forward program makes a map x, and whose backward
// program makes the gradient of x from x and dy, and reads it.
func normalized(t *testing.T) (s *ir.Stage, k *ir.NormalizeGradient) {
	t.Helper()
	s = &ir.Stage{Multiple: ir.Multiple{Height: 1, Width: 1}}
	vector := func() ir.Ref {
		storage := s.AddStorage(ir.Storage{Name: "vector", Space: ir.Input, Elem: ir.Master, Size: ir.Const(8)})
		return s.AddTensor(ir.Tensor{Name: "vector", Shape: []ir.Dim{ir.Const(8)}, Elem: ir.Master, Storage: storage, Strides: ir.RowMajor([]ir.Dim{ir.Const(8)})})
	}
	x := chain(s, mapIn(s, ir.Input), 2)
	k = &ir.NormalizeGradient{DY: mapIn(s, ir.Input), X: x, DX: mapIn(s, ir.Arena), Mean: vector(), Rstd: vector(), Scale: vector(), Shift: vector(), DScale: vector(), DShift: vector()}
	s.Forward[0].Name = "first"
	s.Backward = []ir.Backward{{Ops: []ir.Op{
		{Name: "gradient", Do: k},
		{Name: "read", Do: &ir.Activate{X: k.DX, Y: mapIn(s, ir.InputGradient), Activation: ir.ReLU}},
	}}}
	return s, k
}

func finish(s *ir.Stage) error {
	for _, run := range []func(*ir.Stage) error{arena, lanes} {
		if err := run(s); err != nil {
			return err
		}
	}
	return check(s)
}

// The gradient of a map takes the memory of the map when nothing reads it any more.
func TestGradientsTakeTheMemoryOfTheirMaps(t *testing.T) {
	s, k := normalized(t)
	require.NoError(t, finish(s))
	require.Equal(t, s.StorageOf(k.X).Place, s.StorageOf(k.DX).Place)
	for name, change := range map[string]func(s *ir.Stage, k *ir.NormalizeGradient){
		"the map is read later": func(s *ir.Stage, k *ir.NormalizeGradient) {
			s.Backward[0].Ops = append(s.Backward[0].Ops, ir.Op{Name: "late", Do: &ir.Activate{X: k.X, Y: mapIn(s, ir.InputGradient), Activation: ir.ReLU}})
		},
		"the map is read by a branch": func(s *ir.Stage, k *ir.NormalizeGradient) {
			ops := &s.Backward[0].Ops
			*ops = append([]ir.Op{{Name: "branch", Do: &ir.Activate{X: k.X, Y: mapIn(s, ir.InputGradient), Activation: ir.ReLU}}}, *ops...)
		},
		"the map is an output":        func(s *ir.Stage, k *ir.NormalizeGradient) { s.StorageOf(k.X).Space = ir.Output },
		"the gradient is added to":    func(s *ir.Stage, k *ir.NormalizeGradient) { k.Accumulate = true },
		"the gradient lies otherwise": func(s *ir.Stage, k *ir.NormalizeGradient) { s.Tensor(k.DX).Strides = ir.RowMajor(s.Tensor(k.DX).Shape) },
		"the operation reads in place": func(s *ir.Stage, k *ir.NormalizeGradient) {
			s.Backward[0].Ops[0].Do = &ir.Activate{X: k.X, Y: k.DX, Activation: ir.ReLU}
		},
	} {
		s, k := normalized(t)
		change(s, k)
		require.NoError(t, arena(s), name)
		require.False(t, s.StorageOf(k.X).Space == ir.Arena && s.StorageOf(k.X).Place.Meets(s.StorageOf(k.DX).Place), name)
	}
}

// A plan in which two storages meet that must not is refused, and so is one whose
// launches do not wait for what they share memory with.
func TestCheckProvesMemory(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *ir.Stage, k *ir.NormalizeGradient)
		want   string
	}{
		"lives meet": {func(s *ir.Stage, k *ir.NormalizeGradient) {
			s.StorageOf(s.Forward[0].Writes()[0]).Place = s.StorageOf(k.X).Place
		}, "are alive together"},
		"in place, but not in one place": {func(s *ir.Stage, k *ir.NormalizeGradient) {
			s.StorageOf(k.DX).Place.From++
			s.StorageOf(k.DX).Place.To++
		}, "are alive together"},
		"in place, but added to": {func(s *ir.Stage, k *ir.NormalizeGradient) { k.Accumulate = true }, "are alive together"},
		"in place, but read later": {func(s *ir.Stage, k *ir.NormalizeGradient) {
			late := ir.Op{Name: "late", Do: &ir.Activate{X: k.X, Y: mapIn(s, ir.InputGradient), Activation: ir.ReLU}}
			s.Backward[0].Ops = append(s.Backward[0].Ops, late)
		}, "are alive together"},
		"no place": {func(s *ir.Stage, k *ir.NormalizeGradient) { s.StorageOf(k.X).Place = ir.Place{} }, "and 0 in the arena"},
		"no wait for a result": {func(s *ir.Stage, k *ir.NormalizeGradient) { s.Backward[0].Ops[1].Lane = 7 },
			"read does not wait for gradient"},
	} {
		s, k := normalized(t)
		require.NoError(t, finish(s))
		c.change(s, k)
		require.ErrorContains(t, check(s), c.want, name)
	}
}

// Launches wait for the last use of memory that they take over, on whatever lane.
func TestLaunchesWaitForMemory(t *testing.T) {
	s := &ir.Stage{Multiple: ir.Multiple{Height: 1, Width: 1}}
	x := mapIn(s, ir.Input)
	chain(s, x, 2)
	chain(s, x, 2)
	for i := range s.Forward {
		s.Forward[i].Name = string(rune('a' + i))
	}
	require.NoError(t, finish(s))
	for i := range s.Forward { // all in two places, as if the branches were one chain
		s.StorageOf(s.Forward[i].Writes()[0]).Place = s.StorageOf(s.Forward[i%2].Writes()[0]).Place
	}
	require.ErrorContains(t, check(s), "c does not wait for a, with which it shares memory")
	require.NoError(t, lanes(s))
	require.NoError(t, check(s))
}

// What grows with the square of the pixels lies below what grows with them, though it
// is smaller at nominal sizes; among equals the largest lies below.
func TestWhatGrowsMostLiesBelow(t *testing.T) {
	p := packing{items: []item{{size: 10, growth: 4}, {size: 20, growth: 4}, {size: 5, growth: 16}}}
	for i := range p.items {
		p.items[i].life = life{span{0, 1}}
		p.clash = append(p.clash, newBitset(len(p.items)))
		for j := range p.items {
			p.clash[i].set(j)
		}
	}
	require.Equal(t, []int{25, 5, 0}, p.best())
}

// The arena of the oriented network at 1024 px and batch 4 in 16 bits is little larger
// than the storages that are alive at one time.
func TestArenaIsNearWhatIsAlive(t *testing.T) {
	defined, err := obb.Network.Build()
	require.NoError(t, err)
	s, err := Run(defined, nil)
	require.NoError(t, err)
	sizes := ir.Sizes{Batch: 4, Height: 1024, Width: 1024}
	arenas, err := cost.Arenas(s, sizes)
	require.NoError(t, err)
	alive, lives := map[int]int{}, lifetimes(s)
	for id, life := range lives {
		st := s.Storage(id)
		n, err := st.Size.Eval(sizes)
		require.NoError(t, err)
		bytes := n * map[ir.Element]int{ir.Activation: 2, ir.Master: 4, ir.Index: 4, ir.Counter: 8}[st.Elem]
		for at := life[0].first; at <= life[0].last; at++ {
			alive[at] += bytes
		}
	}
	most := 0
	for _, bytes := range alive {
		most = max(most, bytes)
	}
	t.Logf("arena %.1f MiB, alive together %.1f MiB", float64(arenas[2].Bytes)/(1<<20), float64(most)/(1<<20))
	require.Less(t, arenas[2].Bytes, 955<<20)
	require.Less(t, float64(arenas[2].Bytes), 1.02*float64(most))
}
