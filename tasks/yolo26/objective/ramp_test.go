package objective

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRamp(t *testing.T) {
	for _, c := range []struct {
		epochs, epoch int
		want          float64
	}{
		{100, 0, 0.8}, {100, 1, 0.792929293}, {100, 25, 0.623232323}, {100, 50, 0.446464646},
		{100, 98, 0.107070707}, {100, 99, 0.1}, {100, 120, 0.1},
		{10, 3, 0.566666667}, {1, 0, 0.8}, {2, 1, 0.1}, {0, 0, 0.5}, {0, 77, 0.5},
	} {
		ramp, err := NewRamp(c.epochs)
		require.NoError(t, err)
		near(t, c.want, ramp.Alpha(c.epoch), "epoch %d of %d", c.epoch, c.epochs)
	}
	_, err := NewRamp(-1)
	require.ErrorContains(t, err, "-1 epochs")
}
