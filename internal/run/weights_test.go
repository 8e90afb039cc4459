package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// A fit starts from the moving average of a checkpoint of another class count, or
// of more precision: everything fits but the class outputs, which are listed and
// keep what was drawn. With a rate of nearly nothing the first step shows it.
func TestWeightsOfAnotherClassCount(t *testing.T) {
	dataFile, dir := scenery(t), t.TempDir()
	before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
	_, _, err := train(t.Context(), usual(dataFile, before, "-stop-after=1", "--trainer.precision=float64")...)
	require.NoError(t, err)
	text, err := os.ReadFile(dataFile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(dataFile, append(text, "  4: balloon\n"...), 0o644))

	weights := filepath.Join(before, trainer.CheckpointName)
	start := usual(dataFile, after, "-stop-after=1", "--optim.lr=1e-30", "--run.weights="+weights)
	_, progress, err := train(t.Context(), start...)
	require.NoError(t, err)
	require.Contains(t, progress, "weights of "+weights+": ")
	require.Contains(t, progress, "12 stored tensors skipped, 12 entries kept\n")
	require.Contains(t, progress, "skipped head.o2m.cls_stems.0.2.weight: stored shape [4 16 1 1], network shape [5 16 1 1]\n")

	first, err := checkpoint.Load(weights)
	require.NoError(t, err)
	second, err := checkpoint.Load(filepath.Join(after, trainer.CheckpointName))
	require.NoError(t, err)
	loaded := map[string]checkpoint.Tensor{}
	for _, tensor := range checkpoint.Rounded[float32](first.EMA) {
		loaded[tensor.Name] = tensor
	}
	equal := 0
	for _, tensor := range second.Model {
		if !strings.HasSuffix(tensor.Name, ".weight") || strings.Contains(tensor.Name, "cls_stems") {
			continue
		}
		require.Equal(t, loaded[tensor.Name], tensor)
		equal++
	}
	require.Greater(t, equal, 200)

	_, _, err = train(t.Context(), append(start, "--run.resume="+weights, "--run.overwrite")...)
	require.EqualError(t, err, "run.weights and run.resume are both set; a resumed fit has its weights, so leave run.weights out")
	_, _, err = train(t.Context(), usual(dataFile, filepath.Join(dir, "none"), "--run.weights="+dataFile)...)
	require.ErrorContains(t, err, "run.weights: "+dataFile+": not a checkpoint")
}
