package verify_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/internal/verify"
	"github.com/reprise-ml/reprise/runtime/device"
)

// elsewhere is a device that is not the host and that holds no code for the
// optimizer of an objective, which nobody generates.
type elsewhere struct{ device.Device }

// Load implements device.Device.
func (e elsewhere) Load(plan *ir.Stage, precision device.Precision) (device.Stage, error) {
	if plan.Name == "optimizer_2" {
		return nil, errors.New("no code for this plan")
	}
	return e.Device.Load(plan, precision)
}

// Info implements device.Device.
func (e elsewhere) Info() device.Info {
	info := e.Device.Info()
	info.Kind = "elsewhere"
	return info
}

// The parameters of an objective live in host memory. Their optimizer runs there
// too, recorded if asked, when the network is on another device.
func TestObjectivesOwnOptimizerRunsOnTheHost(t *testing.T) {
	reference := readTrajectory(t, "pose")
	task := taskOf[float32](t, reference.Setting)
	native, err := verify.Trajectory(hostDevice(t), reference, task)
	require.NoError(t, err)
	training, err := verify.Trajectory[float32](elsewhere{hostDevice(t)}, reference, task, trainer.CaptureOptimizer)
	require.NoError(t, err)
	require.Equal(t, native.Digests, training.Digests)
	stages := training.Report.Stages
	last := stages[len(stages)-1]
	require.Equal(t, "optimizer_2", last.Name)
	require.Equal(t, len(training.Digests), last.Replayed)
	require.Equal(t, last.GraphLaunches, int64(last.Replayed))
	require.Equal(t, "optimizer", stages[len(stages)-2].Name)
	require.Equal(t, len(training.Digests), stages[len(stages)-2].Replayed)
}
