package run_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/trainer"
)

// A cache changes no byte of a fit, and tells its size and what it decoded.
func TestTrainWithACache(t *testing.T) {
	dataFile, dir := scenery(t), t.TempDir()
	plain, cold, warm := filepath.Join(dir, "plain"), filepath.Join(dir, "cold"), filepath.Join(dir, "warm")
	_, progress, err := train(t.Context(), usual(dataFile, plain)...)
	require.NoError(t, err)
	require.NotContains(t, progress, "cache of")
	cache := "--data.cache=" + filepath.Join(dir, "cache")
	_, progress, err = train(t.Context(), usual(dataFile, cold, cache)...)
	require.NoError(t, err)
	require.Regexp(t, `cache of train: 0\.0 MB, 3 of 3 images decoded anew\ncache of val: `, progress)
	_, progress, err = train(t.Context(), usual(dataFile, warm, cache, "--data.workers=3")...)
	require.NoError(t, err)
	require.Contains(t, progress, ", 0 of 3 images decoded anew\n")
	want := folder(t, plain)[trainer.CheckpointName]
	require.True(t, want == folder(t, cold)[trainer.CheckpointName])
	require.True(t, want == folder(t, warm)[trainer.CheckpointName])
}
