package pass

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// chain appends activations from x, each into a map of its own.
func chain(s *ir.Stage, x ir.Ref, length int) ir.Ref {
	for range length {
		y := mapIn(s, ir.Arena)
		s.Forward = append(s.Forward, ir.Op{Name: "activate", Do: &ir.Activate{X: x, Y: y, Activation: ir.ReLU}})
		x = y
	}
	return x
}

func mapIn(s *ir.Stage, space ir.Space) ir.Ref {
	shape := []ir.Dim{ir.N, ir.Const(8), ir.H, ir.W}
	storage := s.AddStorage(ir.Storage{Name: "map", Space: space, Elem: ir.Activation, Size: ir.Elements(shape)})
	return s.AddTensor(ir.Tensor{Name: "map", Shape: shape, Elem: ir.Activation, Map: true, Storage: storage, Strides: ir.ChannelsLast(shape)})
}

// places are those of the results of the forward operations, counted in maps.
func places(t *testing.T, s *ir.Stage) (out []int) {
	t.Helper()
	for i := range s.Forward {
		storage := s.StorageOf(s.Forward[i].Writes()[0])
		size, err := storage.Size.Eval(Nominal(s))
		require.NoError(t, err)
		require.Equal(t, size, storage.Place.To-storage.Place.From)
		require.Zero(t, storage.Place.From%size)
		out = append(out, storage.Place.From/size)
	}
	return out
}

// Along a chain memory is used again as soon as its last reader is done.
func TestChainsShareMemory(t *testing.T) {
	s := &ir.Stage{Multiple: ir.Multiple{Height: 1, Width: 1}}
	chain(s, mapIn(s, ir.Input), 5)
	require.NoError(t, arena(s))
	require.Equal(t, []int{0, 1, 0, 1, 0}, places(t, s))
}

// Branches that need not wait for one another do not come to do so through
// memory that they share, and run on lanes of their own.
func TestBranchesShareNoMemory(t *testing.T) {
	s := &ir.Stage{Multiple: ir.Multiple{Height: 1, Width: 1}}
	x := mapIn(s, ir.Input)
	chain(s, x, 3)
	chain(s, x, 3)
	require.NoError(t, arena(s))
	require.Equal(t, []int{0, 1, 0, 2, 3, 2}, places(t, s))
	require.NoError(t, lanes(s))
	for i := range s.Forward {
		require.Equal(t, i/3, s.Forward[i].Lane, "operation %d", i)
		require.Empty(t, s.Forward[i].Wait, "operation %d", i)
	}
}

// What comes so much later that the wait costs nothing shares memory all the same.
func TestFarBranchesShareMemory(t *testing.T) {
	s := &ir.Stage{Multiple: ir.Multiple{Height: 1, Width: 1}}
	x := mapIn(s, ir.Input)
	chain(s, x, 2)
	chain(s, x, farApart+1)
	require.NoError(t, arena(s))
	at := places(t, s)
	require.Less(t, at[len(at)-1], 2)
	require.NotContains(t, at[2:2+farApart/2], at[0])
}

// A launch takes the lane on which it can start first: the second reader of a
// short launch does not queue behind a long one.
func TestLanesFillGaps(t *testing.T) {
	s := &ir.Stage{Multiple: ir.Multiple{Height: 1, Width: 1}}
	x := mapIn(s, ir.Input)
	chain(s, x, 4)
	chain(s, x, 1)
	chain(s, x, 1)
	require.NoError(t, arena(s))
	require.NoError(t, lanes(s))
	require.NotEqual(t, s.Forward[4].Lane, s.Forward[0].Lane)
	require.NotEqual(t, s.Forward[5].Lane, s.Forward[0].Lane)
}

// The weight gradient of a depthwise layer runs on the lane of the input gradient,
// whose kernel may make both, and what reads the input gradient goes on there, as
// if the weight gradient were not there. That of another layer takes a lane of its
// own.
func TestDepthwiseGradientsShareALane(t *testing.T) {
	for _, depthwise := range []bool{true, false} {
		s := &ir.Stage{Multiple: ir.Multiple{Height: 1, Width: 1}}
		inputs, groups := 8, 1
		if depthwise {
			inputs, groups = 1, 8
		}
		weight := func() ir.Ref {
			shape := []ir.Dim{ir.Const(8), ir.Const(inputs), ir.Const(3), ir.Const(3)}
			storage := s.AddStorage(ir.Storage{Name: "weight", Space: ir.Input, Elem: ir.Master, Size: ir.Elements(shape)})
			return s.AddTensor(ir.Tensor{Name: "weight", Shape: shape, Elem: ir.Master, Storage: storage, Strides: ir.RowMajor(shape)})
		}
		x, dy, dx := mapIn(s, ir.Input), mapIn(s, ir.Input), mapIn(s, ir.Arena)
		s.Forward = []ir.Op{
			{Name: "input", Do: &ir.Conv2dInputGradient{DY: dy, Weight: weight(), DX: dx, Kernel: 3, Stride: 1, Groups: groups}},
			{Name: "weight", Do: &ir.Conv2dWeightGradient{X: x, DY: dy, DWeight: weight(), Kernel: 3, Stride: 1, Groups: groups}},
		}
		chain(s, dx, 2)
		require.NoError(t, arena(s))
		require.NoError(t, lanes(s))
		var got []int
		for _, op := range s.Forward {
			got = append(got, op.Lane)
		}
		if depthwise {
			require.Equal(t, []int{0, 0, 0, 0}, got)
		} else {
			require.Equal(t, []int{0, 1, 0, 0}, got)
		}
	}
}

// Gradients of parameters that nothing else in the program needs run on lanes
// where nothing else can queue behind them.
func TestGradientsHoldUpNothing(t *testing.T) {
	s := &ir.Stage{Multiple: ir.Multiple{Height: 1, Width: 1}}
	x := mapIn(s, ir.Input)
	var gradients []int
	for range 3 {
		x = chain(s, x, 1)
		gradients = append(gradients, len(s.Forward))
		s.Forward = append(s.Forward, ir.Op{Name: "gradient", Do: &ir.Activate{X: x, Y: mapIn(s, ir.ParameterGradient), Activation: ir.ReLU}})
	}
	require.NoError(t, lanes(s))
	for _, i := range gradients {
		require.GreaterOrEqual(t, s.Forward[i].Lane, maxLanes-endLanes, "operation %d", i)
		require.Less(t, s.Forward[i-1].Lane, maxLanes-endLanes, "operation %d", i-1)
	}
	// The second is read again: what reads it must not wait for the others.
	chain(s, s.Forward[gradients[1]].Writes()[0], 1)
	require.NoError(t, lanes(s))
	require.Less(t, s.Forward[gradients[1]].Lane, maxLanes-endLanes)
}
