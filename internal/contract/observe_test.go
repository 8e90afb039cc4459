package contract_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// Guard G8 and contract section 1: an observer sees in a recorded fit what it
// sees natively, at an output, inside a stage and of every stage.
func TestObserversSeeTheSame(t *testing.T) {
	file := writeDataset(t, "pose")
	watch := func(capture []trainer.CaptureOption) (seen []float32, names map[string]bool) {
		f := request{task: "pose", data: file, capture: capture, change: func(o *trainer.Options) { o.StopAfter = 3 }}.begin(t)
		names = map[string]bool{}
		see := func(value *replay.Tensor) {
			values := make([]float32, device.Elements(value.Shape()))
			require.NoError(t, value.ReadFloat32(values))
			seen = append(seen, values...)
			names[value.Name()] = true
		}
		_, err := f.stage("head").Observe("o2m_keypoint", see)
		require.NoError(t, err)
		_, err = f.stage("features").Observe("backbone.stem.conv.conv2d", see)
		require.NoError(t, err)
		f.fit.Observe(func(_ *replay.Stage, output *replay.Tensor) { see(output) })
		require.NoError(t, f.fit.Run(context.Background()))
		f.close()
		return seen, names
	}
	native, _ := watch(nil)
	recorded, names := watch(full)
	require.NotEmpty(t, native)
	require.Equal(t, native, recorded)
	require.GreaterOrEqual(t, len(names), 10, "%v", names)
}
