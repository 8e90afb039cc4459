package data

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenCountsBackgroundsAndDuplicates(t *testing.T) {
	directory := t.TempDir()
	for i, name := range []string{"a.png", "b.jpg", "c.png"} {
		writeImage(t, directory, "images/train/"+name, 40, 20, i)
	}
	writeFile(t, directory, "labels/train/a.txt", "0 .5 .5 .5 .5\n0 .5 .5 .5 .5\n1 .5 .5 .5 .5\n")
	writeFile(t, directory, "labels/train/c.txt", "")
	writeFile(t, directory, "data.yaml", "train: images/train\nnames: [a, b]\n")
	dataset := openFolder(t, directory, "train", Options{Format: BoxRows})
	require.Len(t, dataset.Items, 3)
	require.Equal(t, 2, dataset.Instances())
	require.Equal(t, 1, dataset.Duplicates)
	require.Equal(t, 2, dataset.Backgrounds, "an empty label file and none at all")
	require.Empty(t, dataset.Skipped)
	require.Equal(t, []int{40, 20}, []int{dataset.Items[1].Width, dataset.Items[1].Height})
	require.Equal(t, []float64{10, 5, 30, 15}, boxValues(dataset.Items[0].Target.Boxes[0]))
}

// Field case YO-10: every bad file is listed at once, and skipped on request.
func TestOpenListsEveryFault(t *testing.T) {
	directory := t.TempDir()
	for i, name := range []string{"cut.jpg", "good.png", "range.png", "class.png"} {
		writeImage(t, directory, "images/train/"+name, 64, 64, i)
	}
	cut := filepath.Join(directory, "images/train/cut.jpg")
	require.NoError(t, os.Truncate(cut, 100))
	writeFile(t, directory, "labels/train/good.txt", "0 .5 .5 .5 .5\n")
	writeFile(t, directory, "labels/train/range.txt", "0 1.0371 .5 .5 .5\n0 .5 -0.042141 .5 .5\n")
	writeFile(t, directory, "labels/train/class.txt", "0 .5 .5 .5 .5\n3 .5 .5 .5 .5\n")
	config, err := ReadConfig(writeFile(t, directory, "data.yaml", "train: images/train\nnames: [a, b, c]\n"))
	require.NoError(t, err)

	_, err = Open(context.Background(), config, "train", Options{Format: BoxRows})
	require.Error(t, err)
	require.True(t, err.(*FaultsError).Skippable)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 4)
	for i, want := range []string{
		"class.txt:2: class 3 is outside 0..2; ", "cut.jpg: image is cut short; ",
		"range.txt:1: coordinate 1.0371 ", "range.txt:2: coordinate -0.042141 ",
	} {
		// Sorted by image, whichever check ended first.
		require.Contains(t, lines[i], want)
	}

	dataset, err := Open(context.Background(), config, "train", Options{Format: BoxRows, SkipFaulty: true})
	require.NoError(t, err)
	require.Len(t, dataset.Items, 1)
	require.Len(t, dataset.Skipped, 4)
	require.Equal(t, filepath.Join(directory, "images/train/good.png"), dataset.Items[0].Image)

	require.NoError(t, os.Remove(dataset.Items[0].Image))
	_, err = Open(context.Background(), config, "train", Options{Format: BoxRows, SkipFaulty: true})
	require.ErrorContains(t, err, "cut.jpg", "nothing is left")
	require.False(t, err.(*FaultsError).Skippable)
}

func TestOpenRefusesMisplacedLabels(t *testing.T) {
	directory := t.TempDir()
	writeImage(t, directory, "images/train/a.png", 8, 8, 1)
	writeFile(t, directory, "images/train/a.txt", "0 .5 .5 .5 .5\n")
	writeImage(t, directory, "pictures/b.png", 8, 8, 1)
	writeFile(t, directory, "one.txt", "images/train/missing.png\n")
	config, err := ReadConfig(writeFile(t, directory, "data.yaml", "names: [a]\ntrain: images/train\nval: pictures\ntest: one.txt\n"))
	require.NoError(t, err)
	cases := []struct{ split, want string }{
		{"train", "data.yaml:2: none of the 1 images of train has a label file; the first one is expected at " +
			filepath.Join(directory, "labels/train/a.txt")},
		{"val", "b.png: no directory above the image is named images; "},
		{"test", "missing.png: image does not exist; "},
	}
	for _, c := range cases {
		_, err := Open(context.Background(), config, c.split, Options{Format: BoxRows})
		require.ErrorContains(t, err, c.want)
	}

	_, err = Open(context.Background(), config, "train", Options{})
	require.ErrorContains(t, err, "no label format declared; ")

	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Open(cancelled, config, "train", Options{Format: BoxRows})
	require.ErrorIs(t, err, context.Canceled)
}

func TestNativeRefusesChangedImage(t *testing.T) {
	dataset := writeFolder(t, 2)
	sample, err := dataset.Native(1)
	require.NoError(t, err)
	sample.Target.Labels[0] = 9
	require.Equal(t, 1, dataset.Items[1].Target.Labels[0], "the target is a copy")

	file := dataset.Items[0].Image
	writeImage(t, filepath.Dir(file), filepath.Base(file), 99, 16, 1)
	_, err = dataset.Native(0)
	require.ErrorContains(t, err, "image is 99x16 and was 20x16 when the data set was opened; ")
}
