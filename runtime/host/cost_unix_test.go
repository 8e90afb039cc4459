//go:build unix

package host_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/tasks/obb"
)

// What forward and backward of BenchmarkNetwork may cost: 2.5 s on two cores,
// and the memory that weights, gradients and activations need.
const (
	mostCPU    = 5 * time.Second
	mostMemory = 128 << 20 // bytes
)

// The nano network keeps its promise. The time is that of the processors, which
// does not depend on what else the machine does.
func TestNetworkCost(t *testing.T) {
	n := open(t, obb.Network, device.FP32, ir.Sizes{Batch: 2, Height: 256, Width: 256})
	before := processorTime(t)
	require.NoError(t, n.binding.Run(device.Forward(ir.Training)))
	require.NoError(t, n.binding.Run(device.BackwardOf(n.pattern)))
	require.Less(t, processorTime(t)-before, mostCPU)
	require.Less(t, n.device.Counters().PeakBytes, int64(mostMemory))
	t.Logf("%v of processor time, %.1f MiB", processorTime(t)-before, float64(n.device.Counters().PeakBytes)/(1<<20))
	n.close()
}

// processorTime is what all threads of the process have used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
