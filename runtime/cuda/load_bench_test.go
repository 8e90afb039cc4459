//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Loading all kernels of the published oriented network in one precision: what
// the first fit of a process waits for.
func BenchmarkLoad(b *testing.B) {
	d := openDevice(b, cuda.Options{})
	loading := 0.0
	steps := 0
	for b.Loop() {
		before := d.Counters().Loading
		s, err := d.Load(plan(b, published.load), device.BF16)
		require.NoError(b, err)
		took := d.Counters().Loading - before
		b.Logf("kernels in %v", took)
		loading, steps = loading+took.Seconds()*1e3, steps+1
		require.NoError(b, s.Close())
	}
	b.ReportMetric(loading/float64(steps), "load-ms")
	require.NoError(b, d.Close())
}
