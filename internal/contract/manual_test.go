package contract_test

import (
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// Guards G1 and G2 for a trainer of one's own, which trains on several devices,
// steps the optimizer at moments of its choice or accumulates later in the fit and
// still takes one pass a step in the warm-up: nothing is recorded, every step is
// complete and native with the reason, and the model is that of the native steps.
// Field case CT-15.
func TestTrainersThatCannotReplay(t *testing.T) {
	for _, task := range tasks {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			batches := firstEpoch(t, task)
			native, _ := ownTrainer(t, task, batches, replay.Settings{}, trainer.Options{})
			everything := trainer.Options{CaptureNetwork: true, CaptureFull: true, CaptureOptimizer: true}
			for reason, settings := range map[string]replay.Settings{
				"":                              {}, // the one that can
				"G1 distributed over 2 devices": {Devices: 2},
				"G1 manual optimisation":        {Manual: true},
				"G2 gradient accumulation 2":    {Accumulate: 2},
			} {
				got, report := ownTrainer(t, task, batches, settings, everything)
				require.Equal(t, native, got, reason)
				for _, s := range report.Stages {
					reasons := map[string]int{}
					for _, r := range s.Reasons {
						reasons[r.Guard+" "+r.Text] = r.Calls
					}
					if reason == "" {
						require.Positive(t, s.Replayed, s.Name)
						continue
					}
					require.True(t, maps.Equal(map[string]int{reason: len(batches)}, reasons), "%s: %v", s.Name, reasons)
					require.Zero(t, s.Recorded+s.Replayed+int(s.GraphLaunches), s.Name)
				}
			}
		})
	}
}

// firstEpoch gives the batches of one epoch.
func firstEpoch(t *testing.T, task string) []*data.Batch {
	t.Helper()
	var out []*data.Batch
	for batch, err := range loaders(t, writeDataset(t, task), task).Train.Stream(context.Background(), data.Position{}, 1) {
		require.NoError(t, err)
		out = append(out, batch)
	}
	require.Len(t, out, batches)
	return out
}

// ownTrainer trains on batches step by step, without a fit of the project, and
// gives the parameters and momentum that come of it.
func ownTrainer(t *testing.T, task string, batches []*data.Batch, facts replay.Settings, capture trainer.Options) (map[string][]float32, replay.Report) {
	t.Helper()
	settings, err := config.Defaults(task)
	require.NoError(t, err)
	settings.Model.Classes, settings.Model.Keypoints = classes, keypoints
	described, err := catalog.Task[float32](settings, plansOf(t, task))
	require.NoError(t, err)
	options := trainer.OptionsOf(settings)
	options.Optimizer.NSSteps = 2
	options.CaptureNetwork, options.CaptureFull, options.CaptureOptimizer = capture.CaptureNetwork, capture.CaptureFull, capture.CaptureOptimizer
	rate := options.Rate
	rate.MaxEpochs, rate.BatchesPerEpoch, rate.Accumulate = 1, len(batches), 1

	dev := host.Open(host.Options{})
	facts.Batch = batchSize
	fit, err := replay.NewFit(dev, facts)
	require.NoError(t, err)
	learner, err := trainer.NewLearner(fit, described, options, rate)
	require.NoError(t, err)
	for _, batch := range batches {
		outputs, err := learner.Forward(replay.Images(batch.Images, batch.N, batch.H, batch.W))
		require.NoError(t, err)
		loss, err := learner.Loss(outputs, batch, 0.5)
		require.NoError(t, err)
		require.NoError(t, learner.Backward(loss))
		_, stepped, err := learner.Update()
		require.NoError(t, err)
		require.True(t, stepped)
	}
	state := map[string][]float32{}
	live, err := learner.Live()
	require.NoError(t, err)
	for _, tensor := range append(live, learner.Momentum()...) {
		state[tensor.Name] = append(state[tensor.Name], tensor.Value...)
	}
	report := learner.Report()
	require.NoError(t, learner.Close())
	require.NoError(t, fit.Close())
	require.NoError(t, dev.Close())
	return state, report
}
