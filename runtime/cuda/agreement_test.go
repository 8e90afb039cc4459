//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/rounding"
	"github.com/reprise-ml/reprise/runtime/device"
)

// One step of every stage agrees with the host in float64, tensor by tensor: in the
// L2 norm no tensor is farther from its value than rounding explains, as package
// rounding measures it on the host for the same parameters and inputs.
func TestStepAgreesWithHost(t *testing.T) {
	for _, n := range networks {
		sizes := ir.Sizes{Batch: 4, Height: 64, Width: 96}
		if n.name == "small" {
			sizes = ir.Sizes{Batch: 4, Height: 32, Width: 32}
		}
		step := hostStep(t, n, sizes)
		exact, err := step.Exact()
		require.NoError(t, err)
		for _, p := range precision {
			t.Run(n.name+"/"+string(p), func(t *testing.T) {
				o := openNetwork(t, n, p, sizes)
				o.run()
				got, err := rounding.Read(o.stage, o.binding)
				require.NoError(t, err)
				bounds, err := step.Bounds(exact, p)
				require.NoError(t, err)
				worst, share := bounds.Worst(exact, got)
				t.Logf("%s takes %.2f of its bound, more than any other", worst, share)
				require.LessOrEqual(t, share, 1.0, worst)
				o.close()
			})
		}
	}
}

// hostStep is the step of bound.run for the host.
func hostStep(t *testing.T, n network, sizes ir.Sizes) rounding.Step {
	return rounding.Step{
		Plan: plan(t, n.load), Sizes: sizes,
		Fill: func(s device.Stage) error {
			fill(t, s)
			return nil
		},
		Inputs: func(s device.Stage, b device.Binding) error {
			(&bound{TB: t, stage: s, binding: b}).inputs(1)
			return nil
		},
	}
}
