package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/trainer"
)

// Field cases YO-08, YO-10 and YO-20 in a fit: a data set with faults is refused
// before the first step, every fault named once; or the faulty images are left out
// and listed, and the fit is that of the data set without them.
func TestTrainWithFaults(t *testing.T) {
	dataFile, dir := scenery(t), t.TempDir()
	images := filepath.Join(filepath.Dir(dataFile), "images", "train")
	entries, err := os.ReadDir(images)
	require.NoError(t, err)
	whole, err := os.ReadFile(filepath.Join(images, entries[0].Name()))
	require.NoError(t, err)
	good := filepath.Join(dir, "good")
	_, progress, err := train(t.Context(), usual(dataFile, good)...)
	require.NoError(t, err)
	require.NotContains(t, progress, "left out")

	faults := []string{
		"za.txt:1: class 99 is outside 0..", "za.txt:2: class -1 is outside 0..",
		"zb.txt:1: corner coordinate 30 is more than one image away", "zb.txt:2: 8 fields", "zc.png: image ",
	}
	corners := " .1 .1 .5 .1 .5 .3 .1 .3\n"
	for name, file := range map[string]struct {
		rows  string
		bytes int
	}{
		"za": {"99" + corners + "-1" + corners, len(whole)},
		"zb": {"0 30 .1 .5 .1 .5 .3 .1 .3\n0 .1 .1 .5 .1 .5 .3 .1\n", len(whole)},
		"zc": {"0" + corners, 100},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(images, name+".png"), whole[:file.bytes], 0o644))
		labels := filepath.Join(strings.Replace(images, "images", "labels", 1), name+".txt")
		require.NoError(t, os.WriteFile(labels, []byte(file.rows), 0o644))
	}
	refused := filepath.Join(dir, "refused")
	_, _, err = train(t.Context(), usual(dataFile, refused)...)
	require.Error(t, err)
	for _, fault := range faults {
		require.Equal(t, 1, strings.Count(err.Error(), fault), fault)
	}
	require.ErrorContains(t, err, "\ncorrect what is listed, or leave these images out with --data.skip_faulty=true")
	require.NoFileExists(t, filepath.Join(refused, trainer.CheckpointName))

	skipped := filepath.Join(dir, "skipped")
	_, progress, err = train(t.Context(), usual(dataFile, skipped, "--data.skip_faulty=true")...)
	require.NoError(t, err)
	require.Contains(t, progress, "train: images with faults are left out, 3 images are left\n")
	for _, fault := range faults {
		require.Equal(t, 1, strings.Count(progress, fault), fault)
	}
	require.Equal(t, folder(t, good)["losses.csv"], folder(t, skipped)["losses.csv"])
}
