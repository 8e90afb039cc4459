package optim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func newScaler(t *testing.T, change func(*LossScalerOptions)) *LossScaler {
	t.Helper()
	o := DefaultLossScalerOptions()
	if change != nil {
		change(&o)
	}
	s, err := NewLossScaler(o)
	require.NoError(t, err)
	return s
}

func TestLossScalerGrowsAndBacksOff(t *testing.T) {
	s := newScaler(t, func(o *LossScalerOptions) { o.GrowthInterval = 3 })
	for i, test := range []struct {
		overflow bool
		want     float64
	}{{false, 65536}, {false, 65536}, {true, 32768}, {false, 32768}, {false, 32768}, {false, 65536}, {false, 65536}} {
		s.Update(test.overflow)
		require.Equal(t, test.want, s.Scale(), "step %d", i)
	}
	resumed := newScaler(t, func(o *LossScalerOptions) { o.GrowthInterval = 3 })
	require.NoError(t, resumed.Restore(s.State()))
	resumed.Update(false)
	resumed.Update(false)
	require.Equal(t, 131072.0, resumed.Scale())
}

// Field case PO-04: the scale neither grows to infinity nor falls to zero.
func TestLossScaleStaysFinite(t *testing.T) {
	s := newScaler(t, func(o *LossScalerOptions) { o.GrowthInterval = 1 })
	for range 150 {
		s.Update(false)
	}
	require.Equal(t, 0x1p127, s.Scale())
	for range 400 {
		s.Update(true)
	}
	require.Equal(t, 0x1p-126, s.Scale())
	p := []Parameter[float32]{{Name: "w", Value: []float32{0}, Gradient: []float32{0x1p-126}}}
	require.False(t, Unscale(s, p))
	require.Equal(t, float32(1), p[0].Gradient[0])
}

func TestUnscaleFindsEveryNonFiniteElement(t *testing.T) {
	s := newScaler(t, nil)
	for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		for at := range 3 {
			g := []float64{65536, 2 * 65536, 3 * 65536}
			g[at] = bad
			require.True(t, Unscale(s, []Parameter[float64]{{Name: "absent"}, {Name: "w", Gradient: g}}), "%v at %d", bad, at)
		}
	}
	g := []float64{65536, -math.MaxFloat64}
	require.False(t, Unscale(s, []Parameter[float64]{{Name: "w", Gradient: g}}))
	require.Equal(t, 1.0, g[0])
}

func TestLossScalerRefuses(t *testing.T) {
	for want, change := range map[string]func(*LossScalerOptions){
		"loss scale is 0":      func(o *LossScalerOptions) { o.Scale = 0 },
		"loss scale is 1e+39":  func(o *LossScalerOptions) { o.Scale = 1e39 },
		"loss scale is NaN":    func(o *LossScalerOptions) { o.Scale = math.NaN() },
		"growth factor is 1":   func(o *LossScalerOptions) { o.GrowthFactor = 1 },
		"backoff factor is 1":  func(o *LossScalerOptions) { o.BackoffFactor = 1 },
		"growth interval is 0": func(o *LossScalerOptions) { o.GrowthInterval = 0 },
	} {
		o := DefaultLossScalerOptions()
		change(&o)
		_, err := NewLossScaler(o)
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, newScaler(t, nil).Restore(LossScalerState{Scale: 1, Good: -1}), "-1 good steps")
}
