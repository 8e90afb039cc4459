package objective

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizeGrid(t *testing.T) {
	grid, err := Size{Batch: 1, Height: 64, Width: 96, Classes: 1}.Grid()
	require.NoError(t, err)
	require.Equal(t, canvas(t, 64, 96), grid)
	for want, size := range map[string]Size{
		"batch of 0 images":  {Height: 64, Width: 64, Classes: 1},
		"with -1 classes":    {Batch: 1, Height: 64, Width: 64, Classes: -1},
		"multiples of 32":    {Batch: 1, Height: 64, Width: 65, Classes: 1},
		"64 x 0 pixels: bot": {Batch: 1, Height: 64, Classes: 1},
	} {
		_, err := size.Grid()
		require.ErrorContains(t, err, want)
	}
}

func TestCheckOutput(t *testing.T) {
	require.NoError(t, CheckOutput("one-to-one box", 2*84*4, 2, 84, 4))
	require.EqualError(t, CheckOutput("one-to-one box", 671, 2, 84, 4),
		"one-to-one box output has 671 elements, want 2 x 84 x 4 = 672; pass the output of a network built for this size and number of classes")
}

func TestCheckAlpha(t *testing.T) {
	for _, alpha := range []float64{0, 0.8, 1} {
		require.NoError(t, CheckAlpha(alpha))
	}
	for _, alpha := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		require.ErrorContains(t, CheckAlpha(alpha), "one-to-many weight of")
	}
}

func TestFinite(t *testing.T) {
	require.True(t, Finite([]float64{0, -1, math.MaxFloat64, -math.MaxFloat64}, nil))
	for _, broken := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.False(t, Finite([]float32{1}, []float32{2, float32(broken)}))
	}
}
