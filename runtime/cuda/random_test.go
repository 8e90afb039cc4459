//go:build cuda

package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// Field cases SE-04 and SE-05: two stages draw in turn; every mask equals the
// native one and the host's, no two are alike, and each generator advances by
// its own draws alone.
func TestDropout(t *testing.T) {
	run := func(d device.Device, options replay.StageOptions) (masks [][]float32, states [][]int64) {
		fit, err := replay.NewFit(d, replay.Settings{Seed: 7})
		require.NoError(t, err)
		var stages []*replay.Stage
		for _, load := range []func() (*replay.Plan, error){small.FirstPlan, small.SecondPlan} {
			s, err := fit.AddStage(plan(t, load), options)
			require.NoError(t, err)
			stages = append(stages, s)
		}
		ones := make([]float32, 16)
		for i := range ones {
			ones[i] = 1
		}
		for range 4 {
			for _, s := range stages {
				out, err := s.Forward([]replay.Source{replay.Float32s(ones, 1, 16)})
				require.NoError(t, err)
				mask, state := make([]float32, 16), make([]int64, 2)
				require.NoError(t, out[0].ReadFloat32(mask))
				require.NoError(t, s.Buffer(0).ReadInt64(state))
				masks, states = append(masks, mask), append(states, state)
			}
		}
		if options.Capture {
			require.Equal(t, 4, fit.Report().Stages[1].Replayed, fit.Report())
		}
		require.NoError(t, fit.Close())
		require.NoError(t, d.Close())
		return masks, states
	}
	masks, states := run(openDevice(t, cuda.Options{}), replay.StageOptions{})
	replayed, replayedStates := run(openDevice(t, cuda.Options{}), capture)
	onHost, hostStates := run(host.Open(host.Options{}), replay.StageOptions{})
	require.Equal(t, masks, replayed)
	require.Equal(t, states, replayedStates)
	require.Equal(t, masks, onHost)
	require.Equal(t, states, hostStates)
	for i, m := range masks {
		require.NotContains(t, masks[:i], m)
		require.EqualValues(t, 16*(i/2+1), states[i][1])
	}
}
