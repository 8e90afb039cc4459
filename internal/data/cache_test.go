package data

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func openCached(t *testing.T, yaml, cache string) *Dataset {
	t.Helper()
	return openFolder(t, yaml, "train", Options{Format: OrientedRows, CacheDir: cache})
}

// rootOf is the directory of a data set made by writeFolder.
func rootOf(dataset *Dataset) string {
	return filepath.Dir(filepath.Dir(filepath.Dir(dataset.Items[0].Image)))
}

func pixelFiles(t *testing.T, directory string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*"+segmentEnding))
	require.NoError(t, err)
	return files
}

func requireSameImages(t *testing.T, want, got *Dataset) {
	t.Helper()
	require.Len(t, got.Items, len(want.Items))
	for i := range want.Items {
		a, err := want.Native(i)
		require.NoError(t, err)
		b, err := got.Native(i)
		require.NoError(t, err)
		require.Equal(t, a, b)
	}
}

func TestCacheDecodesOnce(t *testing.T) {
	plain := writeFolder(t, 6)
	root, directory := rootOf(plain), t.TempDir()
	cold := openCached(t, root, directory)
	pixels := int64(0)
	for _, item := range plain.Items {
		pixels += 3 * int64(item.Width*item.Height)
	}
	require.Equal(t, CacheState{Bytes: pixels, Decoded: 6}, cold.Cache())
	requireSameImages(t, plain, cold)
	require.NoError(t, cold.Close())

	warm := openCached(t, root, directory)
	require.Equal(t, CacheState{Bytes: pixels}, warm.Cache())
	requireSameImages(t, plain, warm)
	require.NoError(t, warm.Close())
	require.Equal(t, plain.Cache(), CacheState{})
	require.NoError(t, plain.Close())
}

// The key is the content: a touched or renamed file is known, a changed one is
// not, and what nobody uses any more goes.
func TestCacheIsKeyedByContent(t *testing.T) {
	plain := writeFolder(t, 4)
	root, directory := rootOf(plain), t.TempDir()
	require.NoError(t, openCached(t, root, directory).Close())

	touched := plain.Items[0].Image
	require.NoError(t, os.Chtimes(touched, time.Time{}, time.Unix(1e9, 0)))
	renamed := filepath.Join(filepath.Dir(touched), "image99.png")
	require.NoError(t, os.Rename(plain.Items[1].Image, renamed))
	require.NoError(t, os.Rename(plain.Items[1].Label, filepath.Join(filepath.Dir(plain.Items[1].Label), "image99.txt")))
	dataset := openCached(t, root, directory)
	require.Zero(t, dataset.Cache().Decoded)
	requireSameImages(t, openFolder(t, root, "train", Options{Format: OrientedRows}), dataset)
	require.NoError(t, dataset.Close())

	writeImage(t, filepath.Dir(touched), filepath.Base(touched), 55, 44, 7)
	dataset = openCached(t, root, directory)
	require.Equal(t, int64(1), dataset.Cache().Decoded)
	requireSameImages(t, openFolder(t, root, "train", Options{Format: OrientedRows}), dataset)
	require.NoError(t, dataset.Close())
	require.Len(t, pixelFiles(t, directory), 2)

	for i := range 4 {
		name := []string{"image00.png", "image02.png", "image03.png", "image99.png"}[i]
		writeImage(t, filepath.Dir(touched), name, 12, 12, 20+i)
	}
	require.NoError(t, openCached(t, root, directory).Close())
	require.Len(t, pixelFiles(t, directory), 1, "no image uses the old segments")
}

func TestDamagedPixelsAreDecodedAgain(t *testing.T) {
	plain := writeFolder(t, 3)
	root, directory := rootOf(plain), t.TempDir()
	require.NoError(t, openCached(t, root, directory).Close())
	file := pixelFiles(t, directory)[0]
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	damaged := append([]byte{}, content...)
	damaged[10] ^= 1
	require.NoError(t, os.WriteFile(file, damaged, 0o600))

	dataset := openCached(t, root, directory)
	requireSameImages(t, plain, dataset)
	require.Equal(t, int64(1), dataset.Cache().Repaired)
	requireSameImages(t, plain, dataset)
	require.Equal(t, int64(1), dataset.Cache().Repaired, "once")
	require.NoError(t, dataset.Close())
	repaired, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, content, repaired)

	// A cut segment, and an index that is no index, count as absent.
	require.NoError(t, os.Truncate(file, 100))
	dataset = openCached(t, root, directory)
	require.Equal(t, int64(3), dataset.Cache().Decoded)
	requireSameImages(t, plain, dataset)
	require.NoError(t, dataset.Close())
	index, err := filepath.Glob(filepath.Join(directory, "*.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(index[0], []byte(`{"version": 1, "images": [null, {"width": -5, "segment": "../x"}]}`), 0o600))
	dataset = openCached(t, root, directory)
	require.Equal(t, int64(3), dataset.Cache().Decoded)
	requireSameImages(t, plain, dataset)
	require.NoError(t, dataset.Close())
}

// Pixels that were damaged while the image itself changed cannot be repaired.
func TestRepairNeedsTheSameImage(t *testing.T) {
	plain := writeFolder(t, 1)
	directory := t.TempDir()
	dataset := openCached(t, rootOf(plain), directory)
	defer dataset.Close()
	file, err := os.OpenFile(pixelFiles(t, directory)[0], os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	_, err = file.WriteAt([]byte{1, 2, 3, 4, 5, 6, 7}, 9)
	require.NoError(t, err)
	writeImage(t, filepath.Dir(plain.Items[0].Image), filepath.Base(plain.Items[0].Image), 20, 16, 9)
	_, err = dataset.Native(0)
	require.ErrorContains(t, err, "image00.png: image changed since the data set was opened; ")
}

func TestCacheDirectoryIsChecked(t *testing.T) {
	plain := writeFolder(t, 1)
	config, err := ReadConfig(filepath.Join(rootOf(plain), "data.yaml"))
	require.NoError(t, err)
	_, err = Open(t.Context(), config, "train", Options{Format: OrientedRows, CacheDir: config.File})
	require.ErrorContains(t, err, "cache: ")
	require.ErrorContains(t, err, "; give a directory that can be written")
}

// Faults are the same with a cache, and nothing of a refused data set is left.
func TestCacheAndFaults(t *testing.T) {
	plain := writeFolder(t, 3)
	require.NoError(t, os.Truncate(plain.Items[1].Image, 60))
	config, err := ReadConfig(filepath.Join(rootOf(plain), "data.yaml"))
	require.NoError(t, err)
	directory := t.TempDir()
	_, want := Open(t.Context(), config, "train", Options{Format: OrientedRows})
	_, got := Open(t.Context(), config, "train", Options{Format: OrientedRows, CacheDir: directory})
	require.EqualError(t, got, want.Error())
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, left)
}

// With a cache the batches are the same bytes, for any number of workers.
func TestBatchesDoNotDependOnTheCache(t *testing.T) {
	plain := writeFolder(t, 7)
	options := LoaderOptions{BatchSize: 3, Workers: 1, Seed: 4, Shuffle: true}
	want := collectBatches(t, newLoader(t, plain, recipe(size), options), Position{}, 3)
	dataset := openCached(t, rootOf(plain), t.TempDir())
	defer dataset.Close()
	for _, workers := range []int{1, 2, 8} {
		options.Workers = workers
		require.Equal(t, want, collectBatches(t, newLoader(t, dataset, recipe(size), options), Position{}, 3))
	}
}
