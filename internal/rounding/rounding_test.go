package rounding

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/testscale/obb"
	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

func stepOf(t *testing.T, load func() (*replay.Plan, error), sizes ir.Sizes) Step {
	t.Helper()
	plan, err := load()
	require.NoError(t, err)
	return Step{Plan: plan, Sizes: sizes, Fill: fill, Inputs: inputs}
}

func fill(s device.Stage) error {
	for i, p := range s.Plan().Parameters {
		values := noise(uint64(i), device.Elements(p.Shape), 0.2)
		if p.Init.Value == 1 {
			for j := range values {
				values[j]++
			}
		}
		if err := s.Parameter(i).WriteFloat32(values); err != nil {
			return err
		}
	}
	for i, b := range s.Plan().Buffers {
		values := make([]float64, device.Elements(b.Shape))
		for j := range values {
			values[j] = b.Value
		}
		if err := s.Buffer(i).WriteFloat64(values); err != nil {
			return err
		}
	}
	return nil
}

func inputs(s device.Stage, b device.Binding) error {
	for i := range s.Plan().Inputs {
		x := b.Input(i)
		if err := x.WriteFloat32(noise(1, device.Elements(x.Shape()), 1)); err != nil {
			return err
		}
	}
	for i := range s.Plan().Outputs {
		if x := b.Cotangent(i); x != nil {
			if err := x.WriteFloat32(noise(uint64(1000+i), device.Elements(x.Shape()), 0.1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// noise gives seeded values in (-scale, scale).
func noise(seed uint64, n int, scale float32) []float32 {
	stream := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = scale * (2*stream.Float32() - 1)
	}
	return out
}

// fault is a wrong kernel: one launch of the step changes what it wrote.
func (s Step) fault(name string, change func([]float32)) (State, error) {
	return s.run(device.FP32, observer{after: func(op *ir.Op, tensor func(ir.Ref) device.Tensor) error {
		if op.Name != name {
			return nil
		}
		x := tensor(op.Writes()[0])
		values := make([]float32, device.Elements(x.Shape()))
		if err := x.ReadFloat32(values); err != nil {
			return err
		}
		change(values)
		return x.WriteFloat32(values)
	}})
}

// faults are what a wrong kernel may do to the elements that it writes.
var faults = map[string]func([]float32){
	"a hundredth off": func(values []float32) {
		for i := range values {
			values[i] *= 1.01
		}
	},
	"half of them missing": func(values []float32) { clear(values[len(values)/2:]) },
}

// A sound step is within its bounds. One with a single wrong launch is not: in FP32
// whatever launch of whichever network it is and also if it is only a hundredth
// off; in FP16 on a shallow network if it misses elements. Two steps rounded alike
// are equal.
func TestFaultsAreFound(t *testing.T) {
	for _, c := range []struct {
		name      string
		load      func() (*replay.Plan, error)
		sizes     ir.Sizes
		every     int // of how many launches one is wrong in turn
		precision device.Precision
		faults    []string
	}{
		{"small", small.Plan, ir.Sizes{Batch: 4, Height: 32, Width: 32}, 1, device.FP32, []string{"a hundredth off", "half of them missing"}},
		{"small", small.Plan, ir.Sizes{Batch: 4, Height: 32, Width: 32}, 1, device.FP16, []string{"half of them missing"}},
		{"small", small.Plan, ir.Sizes{Batch: 4, Height: 32, Width: 32}, 1, device.BF16, nil},
		{"obb", obb.Plan, ir.Sizes{Batch: 4, Height: 64, Width: 96}, 97, device.FP32, []string{"a hundredth off", "half of them missing"}},
	} {
		t.Run(c.name+"/"+string(c.precision), func(t *testing.T) {
			s := stepOf(t, c.load, c.sizes)
			exact, err := s.Exact()
			require.NoError(t, err)
			bounds, err := s.Bounds(exact, c.precision)
			require.NoError(t, err)
			sound, err := s.Rounded(c.precision, Draws)
			require.NoError(t, err)
			again, err := s.Rounded(c.precision, Draws)
			require.NoError(t, err)
			require.Equal(t, sound, again)
			worst, share := bounds.Worst(exact, sound)
			require.Less(t, share, 0.5, worst)
			for _, name := range s.launches(c.every) {
				for _, fault := range c.faults {
					got, err := s.fault(name, faults[fault])
					require.NoError(t, err)
					_, share := bounds.Worst(exact, got)
					require.Greater(t, share, 1.0, "%s: %s", name, fault)
				}
			}
		})
	}
}

// launches lists operations that write numbers, one of every so many.
func (s Step) launches(every int) []string {
	var names []string
	for _, p := range programs {
		for i, op := range p.Ops(s.Plan) {
			element := s.Plan.StorageOf(op.Writes()[0]).Elem
			if (element == ir.Activation || element == ir.Master) && i%every == every/2 {
				names = append(names, op.Name)
			}
		}
	}
	return names
}

// Errors are no larger than rounding to nearest may make, and of either sign;
// below the normal numbers of FP16 they are absolute.
func TestBlur(t *testing.T) {
	for _, c := range []struct {
		precision   device.Precision
		value, most float64
	}{
		{device.FP32, 1.75, 1.75 * 0x1p-24}, {device.FP16, 1, 0x1p-11}, {device.BF16, 1, 0x1p-8},
		{device.FP16, -640, 640 * 0x1p-11}, {device.FP16, 0x1p-20, 0x1p-25}, {device.BF16, 0x1p-20, 0x1p-28},
	} {
		values := make([]float32, 1000)
		for i := range values {
			values[i] = float32(c.value)
		}
		formatOf(ir.Activation, c.precision).blur(values, nil, rand.New(rand.NewPCG(1, 2)))
		low, high := 0.0, 0.0
		for _, v := range values {
			low, high = min(low, float64(v)-c.value), max(high, float64(v)-c.value)
		}
		half := math.Max(c.most, float64(math.Nextafter32(1, 2)-1)*math.Abs(c.value)) // blurred values are float32
		require.LessOrEqual(t, high, half)
		require.GreaterOrEqual(t, low, -half)
		require.Greater(t, high, 0.0)
		require.Less(t, low, 0.0)
		if c.precision != device.FP32 {
			require.InDelta(t, c.most, high, c.most/50)
			require.InDelta(t, -c.most, low, c.most/50)
		}
	}
	require.Equal(t, float32Format, formatOf(ir.Master, device.BF16))
}

// What rounding does not move must be exact, and what is no number is out of bounds.
func TestWorst(t *testing.T) {
	exact := State{"a": {1, 2}, "b": {3}}
	bounds := Bounds{"a": 0.5, "b": 0}
	name, share := bounds.Worst(exact, State{"a": {1, 2.25}, "b": {3}})
	require.Equal(t, "a", name)
	require.Equal(t, 0.5, share)
	for _, b := range []State{{"a": {1, 2}, "b": {3.001}}, {"a": {1, 2}, "b": {math.NaN()}}, {"a": {1, 2}}} {
		name, share = bounds.Worst(exact, b)
		require.Equal(t, "b", name)
		require.True(t, math.IsInf(share, 1))
	}
	_, share = Bounds{"a": math.NaN(), "b": 0}.Worst(exact, State{"a": {1, 3}, "b": {3}})
	require.True(t, math.IsInf(share, 1), "a bound that overflowed bounds nothing")
}
