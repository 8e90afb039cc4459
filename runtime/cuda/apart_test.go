//go:build cuda

package cuda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/testscale/obb"
	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// No kernel leaves the storages that its launch names: with every storage in an
// allocation of its own length, training and evaluation give the bytes that they
// give in the arena, and numbers only. In the arena an element beyond the end belongs to a
// neighbour or to nothing, and nobody need notice.
func TestKernelsStayInTheirStorages(t *testing.T) {
	for _, c := range []struct {
		name      string
		plan      func() (*replay.Plan, error)
		precision device.Precision
		sizes     ir.Sizes
	}{
		{"small", small.Plan, device.FP32, ir.Sizes{Batch: 2, Height: 24, Width: 16}},
		{"small", small.Plan, device.FP16, ir.Sizes{Batch: 1, Height: 40, Width: 16}},
		{"small", small.Plan, device.BF16, ir.Sizes{Batch: 3, Height: 16, Width: 24}},
		{"obb", obb.Plan, device.FP32, ir.Sizes{Batch: 1, Height: 32, Width: 64}},
		{"obb", obb.Plan, device.BF16, ir.Sizes{Batch: 1, Height: 64, Width: 32}},
	} {
		t.Run(fmt.Sprintf("%s/%s/%s", c.name, c.precision, c.sizes), func(t *testing.T) {
			var states []map[string][]uint64
			for _, apart := range []bool{false, true} {
				o := openPlan(t, openDevice(t, cuda.Options{}), plan(t, c.plan), c.precision, c.sizes)
				programs := func() error {
					o.run()
					return o.binding.Run(device.Forward(ir.Eval))
				}
				if apart {
					require.NoError(t, cuda.Apart(o.binding, programs))
				} else {
					require.NoError(t, programs())
				}
				states = append(states, o.state())
				o.close()
			}
			require.Empty(t, different(states[0], states[1]))
			require.Empty(t, notFinite(states[0]))
		})
	}
}
