package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// draws gives the factors of a dropout with probability one half, from the
// definition of the generator in the package comment.
func draws(seed, first uint64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		z := seed + (first+uint64(i)+1)*0x9E3779B97F4A7C15
		z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
		z = (z ^ (z >> 27)) * 0x94D049BB133111EB
		z ^= z >> 31
		if float64(z>>11)/(1<<53) >= 0.5 {
			out[i] = 2
		}
	}
	return out
}

func TestDropout(t *testing.T) {
	for _, shape := range [][]int{{2, 3, 4, 5}, {40, 1000}} {
		n := device.Elements(shape)
		kernelTest{
			name: "half",
			operands: []operandSpec{
				{name: "x", shape: shape}, {name: "y", shape: shape}, {name: "mask", shape: shape}, {name: "state", elem: ir.Counter, shape: []int{2}},
			},
			prepare: func(v values) { v["state"] = []float64{7, 100} },
			kernel: func(r map[string]ir.Ref) ir.Kernel {
				return &ir.Dropout{X: r["x"], State: r["state"], Mask: r["mask"], Y: r["y"], Probability: 0.5}
			},
			want: func(v values) values {
				mask := draws(7, 100, n)
				y := make([]float64, n)
				for i := range y {
					y[i] = mask[i] * v["x"][i]
				}
				return values{"mask": mask, "y": y, "state": {7, float64(100 + n)}}
			},
		}.run(t)
	}
}

// SplitMix64 from seed 0 starts with these published numbers.
func TestSplitMix(t *testing.T) {
	require.Equal(t, uint64(0xE220A8397B1DCDAF), splitMix(0, 0))
	require.Equal(t, uint64(0x6E789E6AA1B965F4), splitMix(0, 1))
	require.Equal(t, uint64(0x06C45D188009454F), splitMix(0, 2))
}

func dropoutPlan(elements int) *plan {
	p := newPlan()
	p.op(&ir.Dropout{X: p.float("x", dense, elements), State: p.tensor("state", ir.Counter, dense, 2), Mask: p.float("mask", dense, elements), Y: p.float("y", dense, elements), Probability: 0.5})
	return p
}

// Field case SE-04: 16 values, seed 7, 4 steps. Every replay draws the masks
// that native steps draw, they differ, and the state agrees after each step.
func TestDropoutReplaysLikeNative(t *testing.T) {
	native, replayed := dropoutPlan(16).bind(t, device.FP32), dropoutPlan(16).bind(t, device.FP32)
	for _, b := range []*bound{native, replayed} {
		b.write("x", random(1, 16))
		b.write("state", []float64{7, 0})
	}
	r, err := replayed.binding.Record(forward)
	require.NoError(t, err)
	masks := map[string]bool{}
	for step := range 4 {
		native.run()
		require.NoError(t, r.Replay())
		require.Equal(t, native.read("mask"), replayed.read("mask"))
		require.Equal(t, native.read("y"), replayed.read("y"))
		require.Equal(t, []float64{7, float64(16 * (step + 1))}, replayed.read("state"))
		masks[string(maskText(native.read("mask")))] = true
	}
	require.Greater(t, len(masks), 1)
	require.NoError(t, r.Close())
	native.close()
	replayed.close()
}

func maskText(mask []float64) []byte {
	text := make([]byte, len(mask))
	for i, v := range mask {
		text[i] = byte('0' + int(v))
	}
	return text
}

// Field case SE-05: two recorded stages with dropout of 8 values, order A, B,
// A, B, seed 3: each moves along its own numbers, as native steps do.
func TestTwoDropoutsKeepTheirOwnState(t *testing.T) {
	var stages [2]*bound
	var recordings [2]device.Recording
	for i := range stages {
		stages[i] = dropoutPlan(8).bind(t, device.FP32)
		stages[i].write("x", random(1, 8))
		stages[i].write("state", []float64{3, float64(1000 * i)})
		var err error
		recordings[i], err = stages[i].binding.Record(forward)
		require.NoError(t, err)
	}
	for step := range 2 {
		for i := range stages {
			require.NoError(t, recordings[i].Replay())
			require.Equal(t, draws(3, uint64(1000*i+8*step), 8), stages[i].read("mask"))
		}
	}
	for i := range stages {
		require.NoError(t, recordings[i].Close())
		stages[i].close()
	}
}
