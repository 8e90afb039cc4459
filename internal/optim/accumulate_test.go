package optim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// accumulator begins a fit.
func accumulator(t *testing.T, n int, warmupEpochs float64, batchesPerEpoch int) (Accumulation, *Accumulator) {
	t.Helper()
	a, err := NewAccumulation(n, warmupEpochs, batchesPerEpoch)
	require.NoError(t, err)
	counter, err := NewAccumulator(a, 0, 0)
	require.NoError(t, err)
	return a, counter
}

// Field case PO-08: left-over micro-batches carry into the next epoch.
func TestAccumulatorCarriesOverEpochs(t *testing.T) {
	four, a := accumulator(t, 4, 0, 10)
	require.Equal(t, 0.25, a.LossScale())
	var steps, windows []int
	for batch := 1; batch <= 20; batch++ { // two epochs of 10
		if a.First() {
			windows = append(windows, batch)
		}
		if a.Add() {
			steps = append(steps, batch)
		}
		if batch == 10 {
			require.Equal(t, 2, a.Pending())
			var err error
			a, err = NewAccumulator(four, 2, a.Pending()) // a resume between the epochs
			require.NoError(t, err)
		}
	}
	require.Equal(t, []int{4, 8, 12, 16, 20}, steps)
	require.Equal(t, []int{1, 5, 9, 13, 17}, windows)
}

// The warm-up worked by hand, 1 + (n-1) m/w at micro-batch m of w with halves to
// even: for 4 over 2 epochs of 4, the windows open at m = 0 (1), 1 (1.375: 1),
// 2 (1.75: 2), 4 (2.5: 2), 6 (3.25: 3), 9 (4) and 13 (4).
func TestAccumulationWarmup(t *testing.T) {
	for _, c := range []struct {
		name            string
		n               int
		epochs          float64
		batchesPerEpoch int
		want            []int // micro-batches of the first steps
	}{
		{"by hand", 4, 2, 4, []int{1, 1, 2, 2, 3, 4, 4}},
		{"off", 4, 0, 4, []int{4, 4}},
		{"to 1", 1, 2, 4, []int{1, 1, 1}},
		{"half an epoch", 3, 0.5, 4, []int{1, 2, 3, 3}},     // 0 (1), 1 (2), 3 (3)
		{"less than a micro-batch", 3, 0.1, 4, []int{3, 3}}, // 0.4 micro-batches: none
		{"half a micro-batch", 3, 0.125, 4, []int{3}},       // 0.5: none
		{"one micro-batch", 64, 0.25, 4, []int{1, 64, 64}},
		{"longer than any fit", 64, 1e300, 4, []int{1, 1, 1, 1, 1, 1}},
		{"to 16 in 10", 16, 1, 10, []int{1, 2, 6, 14, 16}}, // 0 (1), 1 (2.5: 2), 3 (5.5: 6), 9 (14.5: 14), 23
		{"no batches", 4, 2, 0, []int{4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, counter := accumulator(t, c.n, c.epochs, c.batchesPerEpoch)
			require.Equal(t, c.n > 1 && c.want[0] == 1, a.Grows())
			batch := 0
			for step, want := range c.want {
				require.Equal(t, batch, a.Batches(step))
				require.Equal(t, want, a.At(batch), "step %d", step)
				for pending := range want {
					require.Equal(t, step, a.Steps(batch+pending))
					require.Equal(t, pending, counter.Pending())
					require.Equal(t, pending == 0, counter.First())
					require.Equal(t, 1/float64(want), counter.LossScale())
					again, err := NewAccumulator(a, step, pending) // a resume here
					require.NoError(t, err)
					require.Equal(t, counter, again)
					require.Equal(t, pending == want-1, counter.Add())
				}
				batch += want
			}
		})
	}
}

// Whatever the warm-up, the numbers begin with 1, never fall and end with the
// full number.
func TestAccumulationWarmupIsMonotone(t *testing.T) {
	for _, n := range []int{2, 3, 7, 16, 1 << 20} {
		for _, batches := range []int{1, 2, 3, 10, 997} {
			a, err := NewAccumulation(n, 1, batches)
			require.NoError(t, err)
			require.Equal(t, 1, a.At(0))
			for m := range batches {
				require.LessOrEqual(t, a.At(m), a.At(m+1), "%d over %d at %d", n, batches, m)
			}
			require.Equal(t, n, a.At(batches))
			require.Equal(t, n, a.At(1<<62))
		}
	}
}

func TestAccumulatorRefuses(t *testing.T) {
	a, err := NewAccumulation(4, 2, 4)
	require.NoError(t, err)
	for want, at := range map[string][2]int{
		"1 micro-batches are pending in a window of 1; it must be from 0 to 0":  {0, 1},
		"2 micro-batches are pending in a window of 2; it must be from 0 to 1":  {3, 2},
		"4 micro-batches are pending in a window of 4; it must be from 0 to 3":  {5, 4},
		"-1 micro-batches are pending in a window of 4; it must be from 0 to 3": {9, -1},
	} {
		_, err := NewAccumulator(a, at[0], at[1])
		require.EqualError(t, err, want)
	}
}
