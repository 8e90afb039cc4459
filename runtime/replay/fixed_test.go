package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

// A stage of fixed sizes knows no batch: its first call is a full one whatever
// the batch of the fit. A number that changes between steps is read by every
// replay (field case PO-01: 1.0 minus 0.1 and then 0.01 times the gradient 1),
// and the stage has a precision of its own.
func TestStageOfFixedSizesReplaysWithChangingScalars(t *testing.T) {
	plan := buildPlan(t, "update", func(b *stage.Builder) {
		x := b.FixedInput("x", 1, 3)
		b.Output("y", b.LinearCombination(stage.Term{X: x, Factor: -1, By: b.Scalar("rate")}))
	})
	wish := StageOptions{Capture: true, Precision: device.Float64}
	r := newHostRig(t, host.Options{}, Settings{Batch: 16}, wish, plan)
	p := 1.0
	for _, step := range []struct{ rate, want float64 }{{0.1, 0.9}, {0.01, 0.89}} {
		out, err := r.stages[0].Forward([]Source{Float64s([]float64{1, 2, 3}, 1, 3), Float64s([]float64{step.rate}, 1)})
		require.NoError(t, err)
		require.Equal(t, device.TypeFloat64, out[0].Type())
		y := make([]float64, 3)
		require.NoError(t, out[0].ReadFloat64(y))
		p += y[0]
		require.InDelta(t, step.want, p, 1e-15)
	}
	report := r.fit.Report().Stages[0]
	require.Equal(t, 2, report.Replayed)
	require.Equal(t, int64(2), report.GraphLaunches)
	require.Zero(t, report.KernelLaunches)
	r.close()
}

func TestPrecisionOfAStageIsChecked(t *testing.T) {
	dev := newFake()
	fit, err := NewFit(dev, Settings{})
	require.NoError(t, err)
	_, err = fit.AddStage(pairPlan("pair"), StageOptions{Precision: "int8"})
	require.ErrorContains(t, err, `stage pair: precision "int8" is unknown`)
	require.NoError(t, fit.Close())
}
