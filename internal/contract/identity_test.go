package contract_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// way is one way to run a fit, with the stages that it replays by task.
type way struct {
	name    string
	capture []trainer.CaptureOption
	stages  map[string]string
}

var ways = []way{
	{"network", []trainer.CaptureOption{trainer.CaptureNetwork}, map[string]string{
		"detect": "network", "obb": "network", "pose": "features", "segment": "features",
	}},
	{"heads", []trainer.CaptureOption{trainer.CaptureSegmentHeads}, map[string]string{
		"segment": "coefficients fusion prototypes semantic",
	}},
	{"both", []trainer.CaptureOption{trainer.CaptureNetwork, trainer.CaptureSegmentHeads}, map[string]string{
		"segment": "features coefficients fusion prototypes semantic",
	}},
	{"full", []trainer.CaptureOption{trainer.CaptureFull}, map[string]string{
		"detect": "network", "obb": "network", "pose": "features head", "segment": "features head coefficients fusion prototypes semantic",
	}},
}

// scaled is FP16's loss scaling with a first scale that overflows float32 until
// it has been halved a few times, then one that grows.
func scaled(o *trainer.Options) {
	o.LossScale = &optim.LossScalerOptions{Scale: 0x1p126, GrowthFactor: 2, BackoffFactor: 0x1p-60, GrowthInterval: 3}
}

// Invariants I1, I3, I4 and I9, contract section 5 items 1, 2, 5, 8 and 10: three
// epochs with an empty batch, a batch of invisible keypoints, a partial batch,
// clipping, averaging and a validation after each are the same fit in every way,
// with a schedule of loss scales that overflow too. Field cases SG-04, SG-10,
// GR-08, PO-02, PO-03, LC-10, YO-02, YO-03.
func TestEveryWayIsTheSameFit(t *testing.T) {
	for _, task := range tasks {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			file := writeDataset(t, task)
			_, native := request{task: task, data: file}.run(t)
			_, again := request{task: task, data: file}.run(t)
			require.Equal(t, native, again, "two native fits")
			require.Len(t, native.Losses, 3*batches)
			require.Len(t, native.Validation, 3)
			for _, w := range ways {
				if w.stages[task] == "" {
					continue
				}
				f, got := request{task: task, data: file, capture: w.capture}.run(t)
				require.Equal(t, native, got, w.name)
				f.checkReplays(w.stages[task])
			}
			_, native = request{task: task, data: file, change: scaled}.run(t)
			f, got := request{task: task, data: file, change: scaled, capture: full}.run(t)
			require.Equal(t, native, got, "with loss scaling")
			f.checkReplays(ways[len(ways)-1].stages[task])
		})
	}
}

// checkReplays asserts that the named stages, and no other, were recorded once
// and replayed in every step with a full batch: graph launches, no kernels.
func (f *fixture) checkReplays(stages string) {
	f.Helper()
	for _, s := range f.fit.Report().Stages {
		if !strings.Contains(" "+stages+" ", " "+s.Name+" ") {
			require.Zero(f, s.Recorded+s.Replayed, s.Name)
			require.Zero(f, s.GraphLaunches, s.Name)
			continue
		}
		require.Equal(f, 1, s.Recorded, s.Name)
		require.Equal(f, 9, s.Replayed, s.Name)
		require.Equal(f, 3, s.Partial, s.Name)
		require.Equal(f, forwardOnly(s.Name, 3), s.ForwardOnly, s.Name)
		require.EqualValues(f, 2*s.Replayed-s.ForwardOnly, s.GraphLaunches, s.Name)
	}
	require.Empty(f, f.fit.Report().Warnings)
}

// forwardOnly is how many replays of a stage have no backward pass in a fit with
// a number of steps without positives: masks then use neither coefficients nor
// prototypes (YOLO26 specification, objective section 4.1).
func forwardOnly(stage string, steps int) int {
	if stage == "coefficients" || stage == "prototypes" {
		return steps
	}
	return 0
}

// A scale that overflows skips its steps and no more: the fit differs from the
// one without scaling, and later steps move the model (field case PO-02).
func TestOverflowSkipsStepsAndRecovers(t *testing.T) {
	f := request{task: "pose", data: writeDataset(t, "pose"), change: scaled, capture: []trainer.CaptureOption{trainer.CaptureFull}}.begin(t)
	values := func() []float32 {
		all, err := f.fit.Learner().Parameters()
		require.NoError(t, err)
		return append([]float32(nil), all[0].Value...)
	}
	before, moved := values(), []bool{}
	f.after = func(int) {
		now := values()
		moved = append(moved, !equal(before, now))
		before = now
	}
	require.NoError(t, f.fit.Run(context.Background()))
	require.False(t, moved[0], "the first scale overflows")
	require.True(t, moved[len(moved)-1])
	require.Equal(t, 3*batches, f.fit.Steps(), "skipped steps count")
	still := 0
	for _, m := range moved {
		if !m {
			still++
		}
	}
	require.Equal(t, still, f.fit.Overflows())
	f.close()
}

func equal(a, b []float32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Invariant I9, contract section 5 item 8: a fit with loss scaling that stops in
// the middle of an epoch, fully recorded, goes on natively to the same bytes. A
// checkpoint without a loss scale is refused. Field case LC-10.
func TestResumeInAnotherWay(t *testing.T) {
	for _, task := range tasks {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			file := writeDataset(t, task)
			_, want := request{task: task, data: file, change: scaled}.run(t)
			dir := t.TempDir()
			first, _ := request{task: task, data: file, capture: full, change: func(o *trainer.Options) {
				scaled(o)
				o.Dir, o.StopAfter = dir, 6
			}}.run(t)
			require.Equal(t, 6, first.fit.Steps())
			resumed := request{task: task, data: file, change: func(o *trainer.Options) {
				scaled(o)
				o.Dir, o.Resume = dir, filepath.Join(dir, trainer.CheckpointName)
			}}
			_, got := resumed.run(t)
			require.Equal(t, want.Hashes, got.Hashes)
			require.Equal(t, want.Losses, got.Losses)
			require.Equal(t, want.Validation[1:], got.Validation)
		})
	}
}

func TestResumeWithoutALossScale(t *testing.T) {
	file, dir := writeDataset(t, "detect"), t.TempDir()
	request{task: "detect", data: file, change: func(o *trainer.Options) { o.Dir, o.StopAfter = dir, 1 }}.run(t)
	_, err := request{task: "detect", data: file, change: func(o *trainer.Options) {
		scaled(o)
		o.Resume = filepath.Join(dir, trainer.CheckpointName)
	}}.open(t)
	require.ErrorContains(t, err, "holds no loss scale; it is of a fit in another precision")
}

// The flow's 42 parameters are in checkpoints and in the moving average, and
// they train.
func TestTheFlowIsPartOfTheFit(t *testing.T) {
	f := request{task: "pose", data: writeDataset(t, "pose")}.begin(t)
	start := map[string][]float32{}
	all, err := f.fit.Learner().Parameters()
	require.NoError(t, err)
	for _, p := range all {
		if strings.HasPrefix(p.Name, "rle_loss.") {
			start[p.Name] = append([]float32(nil), p.Value...)
		}
	}
	require.Len(t, start, 42)
	require.Equal(t, []float32{1}, start["rle_loss.layers.2.gain"])
	require.NoError(t, f.fit.Run(context.Background()))
	state, err := f.fit.State()
	require.NoError(t, err)
	for _, family := range [][]string{names(state.Model), names(state.EMA), names(state.Momentum)} {
		count := 0
		for _, name := range family {
			if strings.HasPrefix(name, "rle_loss.") {
				count++
			}
		}
		require.Equal(t, 42, count)
	}
	all, err = f.fit.Learner().Parameters()
	require.NoError(t, err)
	for _, p := range all {
		if before, is := start[p.Name]; is {
			require.False(t, equal(before, p.Value), p.Name)
		}
	}
	f.close()
}

func names(tensors []checkpoint.Tensor) []string {
	var out []string
	for _, tensor := range tensors {
		out = append(out, tensor.Name)
	}
	return out
}
