//go:build cuda

package cudasim_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/internal/testscale/obb"
	_ "github.com/reprise-ml/reprise/internal/testscale/optimizer/obb" // the kernels of the optimizer
	"github.com/reprise-ml/reprise/internal/trainer"
)

// The fits that are cancelled train the oriented test scale for two epochs of one
// batch, or of two when CUDASIM_FULL is set.
const (
	cancelledEpochs = 2
	cancelledBatch  = 2
	cancelledSize   = 32 // px
)

// training is one fit through the trainer.
type training struct {
	*testing.T
	data, dir string
	resume    string // a checkpoint; empty starts anew
	capture   bool
	cancelAt  int // the step after which the fit is cancelled; 0 before the first, -1 never

	cancel   context.CancelFunc
	steps    int
	hashes   checkpoint.Hashes
	replayed int
}

// Begin implements trainer.Progress.
func (c *training) Begin(int, int) {
	if c.cancelAt == 0 {
		c.cancel()
	}
}

// Step implements trainer.Progress.
func (c *training) Step(int, float64) {
	if c.steps++; c.steps == c.cancelAt {
		c.cancel()
	}
}

// End implements trainer.Progress.
func (c *training) End(int, []trainer.Term) {}

// run trains until the end or the cancellation and releases everything.
func (c *training) run() (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.cancel = cancel
	settings, err := config.Defaults("obb")
	require.NoError(c, err)
	settings.Model.Scale, settings.Model.Classes, settings.Model.CaptureNetwork = "t", len(scenes.Classes), c.capture
	settings.Data.ImgSize, settings.Data.BatchSize = cancelledSize, cancelledBatch
	settings.Trainer.MaxEpochs, settings.Optim.WarmupEpochs = cancelledEpochs, 1
	settings.Run.Dir, settings.Run.Resume = c.dir, c.resume
	plan, err := obb.Plan()
	require.NoError(c, err)
	task, err := catalog.Task[float32](settings, []*ir.Stage{plan})
	require.NoError(c, err)
	options := trainer.OptionsOf(settings)
	options.Progress = c
	device, err := openCUDA()
	require.NoError(c, err)
	defer func() { require.NoError(c, device.Close()) }()
	fit, err := trainer.New(device, task, c.loaders(), options)
	require.NoError(c, err)
	defer func() { require.NoError(c, fit.Close()) }()
	err = fit.Run(ctx)
	var broken error
	c.hashes, broken = fit.Hashes()
	require.NoError(c, broken)
	c.replayed = fit.Report().Stages[0].Replayed
	return err
}

func (c *training) loaders() trainer.Data {
	described, err := data.ReadConfig(c.data)
	require.NoError(c, err)
	set, err := data.Open(context.Background(), described, "train", data.Options{Format: data.OrientedRows})
	require.NoError(c, err)
	loader, err := data.NewLoader(set, data.ValidationPipeline(cancelledSize), data.LoaderOptions{
		BatchSize: cancelledBatch, Width: cancelledSize, Height: cancelledSize, Workers: 1, Shuffle: true,
	})
	require.NoError(c, err)
	return trainer.Data{Train: loader}
}

// A fit that replays and is cancelled after any step ends with the reason of the
// cancellation and a checkpoint, leaves nothing alive and no stream capturing, and
// the fit that goes on from the checkpoint records anew and ends with the bytes of
// a native fit that nobody cancelled (contract I8).
func TestCancelledAtEveryStep(t *testing.T) {
	needSimulator(t)
	batches := 1
	if os.Getenv("CUDASIM_FULL") != "" {
		batches = 2
	}
	steps, folder := cancelledEpochs*batches, t.TempDir()
	require.NoError(t, scenes.WriteOriented(folder, scenes.Folder{Train: batches * cancelledBatch, Val: 1}, scenes.Options{Size: 64, Objects: 3, Seed: 5}))
	file := filepath.Join(folder, "data.yaml")
	native := &training{T: t, data: file, dir: t.TempDir(), cancelAt: -1}
	require.NoError(t, native.run())
	require.Equal(t, steps, native.steps)
	sound(t)
	table := tally{}
	for step := range steps + 1 {
		dir := t.TempDir()
		cancelled := &training{T: t, data: file, dir: dir, capture: true, cancelAt: step}
		err := cancelled.run()
		sound(t)
		require.ErrorIs(t, err, context.Canceled)
		resumed := &training{T: t, data: file, dir: dir, capture: true, cancelAt: -1, resume: filepath.Join(dir, trainer.CheckpointName)}
		require.NoError(t, resumed.run())
		sound(t)
		assert.Equal(t, native.hashes, resumed.hashes, "cancelled at step %d", step)
		assert.Equal(t, steps, cancelled.steps+resumed.steps)
		assert.Equal(t, steps, cancelled.replayed+resumed.replayed, "cancelled at step %d", step)
		table.add("step", "equal, replayed")
	}
	t.Logf("cancellations, by outcome of the resumed fit\n%s", table)
}
