//go:build cuda

package optim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/testscale/optimizer/small"
	testnetwork "github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// On the device too the recorded optimizer is the native one, bit for bit, by
// one launch a step, and it follows the formula.
func TestOptimizerOnTheDevice(t *testing.T) {
	plan, err := testnetwork.Plan()
	require.NoError(t, err)
	var shapes [][]int
	for _, p := range plan.Parameters {
		shapes = append(shapes, p.Shape)
	}
	generated, err := small.OptimizerPlan()
	require.NoError(t, err)
	built, err := planOf("optimizer", 5, shapes)
	require.NoError(t, err)
	require.Equal(t, built.Digest, generated.Digest, "run go generate ./...")

	run := func(record bool) (map[string]string, []Parameter[float32], replay.StageReport) {
		dev, err := cuda.Open(cuda.Options{})
		require.NoError(t, err)
		fit, err := replay.NewFit(dev, replay.Settings{Batch: 4, Strict: record})
		require.NoError(t, err)
		at := Home{Fit: fit, Wish: replay.StageOptions{Capture: record}}
		kept, parameters := script[float32](t, at, home(t), DefaultMuSGDOptions(), shapes)
		report := at.stage()
		require.NoError(t, fit.Close())
		require.NoError(t, dev.Close())
		return kept, parameters, report
	}
	native, weights, first := run(false)
	replayed, _, second := run(true)
	require.Equal(t, native, replayed)
	require.Zero(t, first.GraphLaunches)
	require.Equal(t, int64(6), second.GraphLaunches)
	require.Zero(t, second.KernelLaunches)
	require.Greater(t, first.KernelLaunches, int64(500))

	dev, err := cuda.Open(cuda.Options{})
	require.NoError(t, err)
	fit, err := replay.NewFit(dev, replay.Settings{})
	require.NoError(t, err)
	unknown := []Parameter[float32]{{Name: "w", Shape: []int{5, 7}}}
	require.ErrorContains(t, optimizer[float32](t, Home{Fit: fit}, DefaultMuSGDOptions()).Place(Home{Fit: fit}, unknown), `declare it by musgd.Define("optimizer", 5, <the network's stages>)`)
	require.NoError(t, fit.Close())
	require.NoError(t, dev.Close())

	beside := home(t)
	kept, onHost := script[float32](t, beside, beside, DefaultMuSGDOptions(), shapes)
	for i, want := range onHost {
		wide := make([]float64, len(want.Value))
		for k, v := range want.Value {
			wide[k] = float64(v)
		}
		requireRelative(t, wide, weights[i].Value, 1e-5, "weight %d", i)
	}
	require.Len(t, native, len(kept))
}
