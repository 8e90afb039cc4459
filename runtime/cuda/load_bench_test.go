//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Loading all kernels of the published oriented network: what the first fit of a
// process waits for. The first time, which a process meets once, is reported apart
// from the mean of the others, so each precision wants a process of its own.
func BenchmarkLoad(b *testing.B) {
	for _, precision := range []device.Precision{device.BF16, device.FP16, device.FP32} {
		b.Run(string(precision), func(b *testing.B) {
			d := openDevice(b, cuda.Options{})
			var milliseconds []float64
			for b.Loop() {
				before := d.Counters().Loading
				s, err := d.Load(plan(b, published.load), precision)
				require.NoError(b, err)
				milliseconds = append(milliseconds, (d.Counters().Loading-before).Seconds()*1e3)
				require.NoError(b, s.Close())
			}
			b.ReportMetric(milliseconds[0], "first-load-ms")
			sum := 0.0
			for _, ms := range milliseconds[1:] {
				sum += ms
			}
			b.ReportMetric(sum/float64(max(1, len(milliseconds)-1)), "load-ms")
			require.NoError(b, d.Close())
		})
	}
}
