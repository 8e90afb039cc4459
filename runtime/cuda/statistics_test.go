//go:build cuda

package cuda_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

var errSeen = errors.New("seen")

// Batch statistics in FP32 of values far from zero, and of values whose first block
// lies a thousand deviations of the others away from them: what the squares are
// counted from is the mean of the first partial result.
//
// Counted from s, the squares add up to n*(variance + (mean-s)^2), of which the
// second part is taken off again: the variance deviates by some roundings times
// 1 + (mean-s)^2/variance. A set of m of the n values whose mean is s contributes
// m*(mean-s)^2 to n*variance at least, and partial results are of n/512 values or
// more, so that this is 513 at most; three roundings of each sum and 2^3 for their
// order make 8. From zero it would be 3 million here.
func TestStatisticsFarFromTheFirstBlock(t *testing.T) {
	sizes := ir.Sizes{Batch: 4, Height: 64, Width: 64}
	const unit, first = 0x1p-24, 64
	for name, start := range map[string]float32{"one distribution": 1000, "first block far away": -1000} {
		values := noise(5, 4*32*32, 1) // of a channel after the convolution
		for i := range values {
			values[i] += 1000
			if i < first {
				values[i] += start - 1000
			}
		}
		mean, deviation := moments(values)
		for kind, d := range map[string]device.Device{"host": host.Open(host.Options{}), "cuda": openDevice(t, cuda.Options{})} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				gotMean, gotRstd := stemStatistics(t, d, sizes, values)
				for c := range gotMean {
					require.InDelta(t, mean, gotMean[c], 8*unit*1000, "mean of channel %d", c)
					require.InEpsilon(t, 1/deviation, gotRstd[c], 8*unit*513, "channel %d", c)
				}
				require.NoError(t, d.Close())
			})
		}
	}
}

// moments gives the mean and the deviation that the stem of the small network
// divides by.
func moments(values []float32) (mean, deviation float64) {
	for _, v := range values {
		mean += float64(v) / float64(len(values))
	}
	for _, v := range values {
		d := float64(v) - mean
		deviation += d * d / float64(len(values))
	}
	return mean, math.Sqrt(deviation + 1e-3)
}

// stemStatistics lets every channel of the first convolution of the small network
// give the values, and returns what its batch norm makes of them.
func stemStatistics(t *testing.T, d device.Device, sizes ir.Sizes, values []float32) (mean, rstd []float64) {
	t.Helper()
	s, err := d.Load(plan(t, small.Plan), device.FP32)
	require.NoError(t, err)
	fill(t, s)
	for i, p := range s.Plan().Parameters {
		if p.Name != "stem.conv.weight" {
			continue
		}
		w := make([]float32, device.Elements(p.Shape)) // (16, 3, 3, 3)
		for c := range 16 {
			w[(c*3+c%3)*9+4] = 1 // the pixel in the middle
		}
		require.NoError(t, s.Parameter(i).WriteFloat32(w))
	}
	b, err := s.Bind(sizes)
	require.NoError(t, err)
	require.NoError(t, b.Input(0).WriteFloat32(spread(sizes, values)))
	err = b.(device.Observable).RunObserved(forward, func(op *ir.Op, tensor func(ir.Ref) device.Tensor) error {
		k, is := op.Do.(*ir.BatchStatistics)
		if !is || op.Name != "stem.bn.statistics" {
			return nil
		}
		mean, rstd = make([]float64, 16), make([]float64, 16)
		return errors.Join(tensor(k.Mean).ReadFloat64(mean), tensor(k.Rstd).ReadFloat64(rstd), errSeen)
	})
	require.ErrorIs(t, err, errSeen)
	require.NoError(t, b.Close())
	require.NoError(t, s.Close())
	return mean, rstd
}

// spread makes an image of whose pixels a convolution of stride 2 meets the values
// in the middle of its window, in all three colours.
func spread(sizes ir.Sizes, values []float32) []float32 {
	h, w := sizes.Height, sizes.Width
	image := make([]float32, sizes.Batch*3*h*w)
	for i, v := range values {
		x, y, n := i%(w/2), i/(w/2)%(h/2), i/(w/2)/(h/2)
		for c := range 3 {
			image[((n*3+c)*h+2*y)*w+2*x] = v
		}
	}
	return image
}
