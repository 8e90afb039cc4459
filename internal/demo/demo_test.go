package demo_test

import (
	"context"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/demo"
)

// The demo, cut short: both fits end with equal hashes, the replayed one with a
// replay in every step and far fewer launches; the picture is one; and nothing
// is written outside of its folder.
func TestRun(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	result, err := demo.Run(t.Context(), demo.Options{Dir: "demo", Steps: 2}, io.Discard)
	require.NoError(t, err)
	require.True(t, result.Identical)
	require.Len(t, result.Arms, 2)
	native, replayed := result.Arms[0], result.Arms[1]
	require.Equal(t, native.Hashes, replayed.Hashes)
	require.Equal(t, 2, replayed.Replayed)
	require.Zero(t, native.GraphLaunches)
	require.EqualValues(t, 6, replayed.GraphLaunches, "forward, backward and optimizer of two steps")
	require.Less(t, replayed.KernelLaunches, native.KernelLaunches/2)

	file, err := os.Open(result.Picture)
	require.NoError(t, err)
	defer file.Close()
	picture, err := png.Decode(file)
	require.NoError(t, err)
	require.Greater(t, picture.Bounds().Dx(), 300)
	entries, err := os.ReadDir(work)
	require.NoError(t, err)
	require.Len(t, entries, 1)

	var text strings.Builder
	require.NoError(t, result.WriteText(&text))
	require.Contains(t, text.String(), "native and replayed are identical, byte for byte\n")

	again, err := demo.Run(t.Context(), demo.Options{Dir: "demo", Steps: 1}, io.Discard)
	require.NoError(t, err, "the folder of a demo may be used again")
	require.NotEqual(t, native.Hashes.Model, again.Arms[0].Hashes.Model)
}

// Mistakes and interruptions are errors.
func TestRunRefuses(t *testing.T) {
	_, err := demo.Run(context.Background(), demo.Options{Dir: t.TempDir(), Steps: 0}, io.Discard)
	require.EqualError(t, err, "-steps is 0; use 1 or more")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = demo.Run(ctx, demo.Options{Dir: filepath.Join(t.TempDir(), "demo"), Steps: 1}, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
}

// A folder of that name with something else in it stays as it is.
func TestRunRemovesNothingOfOthers(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "scenes", "notes.txt")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, err := demo.Run(t.Context(), demo.Options{Dir: dir, Steps: 1}, io.Discard)
	require.EqualError(t, err, "-out: "+file+" is not of a demo and would be removed; give another folder")
	require.FileExists(t, file)
	_, err = demo.Run(t.Context(), demo.Options{Dir: file, Steps: 1}, io.Discard)
	require.ErrorContains(t, err, "-out: ")
	require.ErrorContains(t, err, "; give another folder")
}
