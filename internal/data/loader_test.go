package data

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/device"
)

const size = 32

func newLoader(t *testing.T, dataset *Dataset, pipeline Pipeline, options LoaderOptions) *Loader {
	t.Helper()
	options.Width, options.Height = size, size
	loader, err := NewLoader(dataset, pipeline, options)
	require.NoError(t, err)
	return loader
}

func collectBatches(t *testing.T, loader *Loader, from Position, endEpoch int) []*Batch {
	t.Helper()
	var batches []*Batch
	for batch, err := range loader.Stream(context.Background(), from, endEpoch) {
		require.NoError(t, err)
		batches = append(batches, batch)
	}
	return batches
}

// Field case SG-04: ten images by four are batches of 4, 4 and 2, every epoch.
func TestShortLastBatchIsKept(t *testing.T) {
	loader := newLoader(t, writeFolder(t, 10), recipe(size), LoaderOptions{BatchSize: 4, Workers: 2, Shuffle: true})
	require.Equal(t, 3, loader.Batches())
	batches := collectBatches(t, loader, Position{}, 2)
	require.Len(t, batches, 6)
	for i, batch := range batches {
		count := []int{4, 4, 2}[i%3]
		require.Equal(t, Position{Epoch: i / 3, Batch: i % 3}, batch.Position)
		require.Equal(t, []int{count, size, size}, []int{batch.N, batch.H, batch.W})
		require.Len(t, batch.Images, count*size*size*3)
		require.Len(t, batch.Targets, count)
		require.Len(t, batch.Paths, count)
	}
}

// Batches are equal to the byte with any number of workers, with oriented boxes, and
// with outlines, which are pasted and rasterised; images drawn turned, too.
func TestBatchesDoNotDependOnWorkers(t *testing.T) {
	turned := TrainingPipeline(Augmentation{Size: size, Mosaic: 0.7, Mixup: 0.3, CopyPaste: 0.5, Flip: 0.5, CloseEpoch: 2,
		Affine: Affine{Degrees: 20, Shear: 5, Scale: 0.5, Translate: 0.1}, HSV: DefaultHSV})
	for _, c := range []struct {
		format   RowFormat
		pipeline Pipeline
	}{{OrientedRows, recipe(size)}, {PolygonRows, turned}} {
		dataset := writeFolderAs(t, 10, c.format)
		options := LoaderOptions{BatchSize: 4, Workers: 1, Seed: 5, Shuffle: true, Masks: c.format == PolygonRows}
		want := collectBatches(t, newLoader(t, dataset, c.pipeline, options), Position{}, 3)
		for _, workers := range []int{2, 8} {
			options.Workers = workers
			require.Equal(t, want, collectBatches(t, newLoader(t, dataset, c.pipeline, options), Position{}, 3))
		}
		options.Seed = 6
		other := collectBatches(t, newLoader(t, dataset, c.pipeline, options), Position{}, 3)
		require.NotEqual(t, want, other, "the seed matters")
		require.NotEqual(t, want[0].Paths, want[3].Paths, "the epoch matters")
	}
}

// Colours that are left to the device come out as those of the loader, code by
// code, and nothing else of the batches differs.
func TestDeviceColors(t *testing.T) {
	dataset := writeFolder(t, 10)
	options := LoaderOptions{BatchSize: 4, Workers: 2, Seed: 5, Shuffle: true}
	want := collectBatches(t, newLoader(t, dataset, recipe(size), options), Position{}, 2)
	options.DeviceColors = true
	got := collectBatches(t, newLoader(t, dataset, recipe(size), options), Position{}, 2)
	for i, batch := range got {
		require.Nil(t, want[i].Jitter)
		require.Len(t, batch.Jitter, batch.N)
		require.NotEqual(t, want[i].Images, batch.Images)
		for n, jitter := range batch.Jitter {
			jitter.Apply(batch.Images[3*size*size*n:][:3*size*size])
		}
		batch.Jitter = nil
		require.Equal(t, want[i], batch)
	}
	plain := collectBatches(t, newLoader(t, dataset, ValidationPipeline(size), options), Position{}, 1)
	require.Equal(t, make([]device.Jitter, 4), plain[0].Jitter, "no step, no change")
}

// Draws belong to the image, not to its place in a batch.
func TestImagesDoNotDependOnTheBatchSize(t *testing.T) {
	dataset := writeFolder(t, 7)
	images := func(batchSize int) map[string][]uint8 {
		options := LoaderOptions{BatchSize: batchSize, Workers: 2, Seed: 5, Shuffle: true}
		byPath := map[string][]uint8{}
		for _, batch := range collectBatches(t, newLoader(t, dataset, recipe(size), options), Position{}, 1) {
			for i, path := range batch.Paths {
				byPath[path] = batch.Images[i*3*size*size : (i+1)*3*size*size]
			}
		}
		return byPath
	}
	require.Equal(t, images(1), images(3))
}

func TestStreamResumesAtAnyPosition(t *testing.T) {
	options := LoaderOptions{BatchSize: 3, Workers: 2, Seed: 5, Shuffle: true}
	loader := newLoader(t, writeFolder(t, 7), recipe(size), options)
	whole := collectBatches(t, loader, Position{}, 3)
	for start := range whole {
		from := whole[start].Position
		require.Equal(t, whole[start:], collectBatches(t, loader, from, 3))
	}
	require.Empty(t, collectBatches(t, loader, Position{Epoch: 3}, 3))
	for _, bad := range []Position{{Batch: 3}, {Batch: -1}, {Epoch: -1}} {
		for _, err := range loader.Stream(context.Background(), bad, 3) {
			require.ErrorContains(t, err, "an epoch has batches 0 to 2")
		}
	}
}

func TestEveryEpochHoldsEveryImageOnce(t *testing.T) {
	dataset := writeFolder(t, 7)
	loader := newLoader(t, dataset, recipe(size), LoaderOptions{BatchSize: 2, Workers: 2, Shuffle: true})
	seen := map[int][]string{}
	for _, batch := range collectBatches(t, loader, Position{}, 2) {
		seen[batch.Epoch] = append(seen[batch.Epoch], batch.Paths...)
	}
	for _, paths := range seen {
		slices.Sort(paths)
		require.Len(t, slices.Compact(paths), 7)
	}
}

// Field case YO-05: the target stays with its image when images without
// instances come first. In validation the order is the data set's own and the
// image is letterboxed only.
func TestValidationKeepsOrderAndTargets(t *testing.T) {
	dataset := writeFolder(t, 8)
	slices.SortStableFunc(dataset.Items, func(a, b Item) int { return a.Target.Len() - b.Target.Len() })
	loader := newLoader(t, dataset, ValidationPipeline(size), LoaderOptions{BatchSize: 8, Workers: 4, Seed: 3})
	batches := collectBatches(t, loader, Position{}, 2)
	require.Len(t, batches, 2)
	require.Equal(t, batches[0].Images, batches[1].Images, "nothing is drawn")
	for i, item := range dataset.Items {
		require.Equal(t, item.Image, batches[0].Paths[i])
		letterbox := NewLetterbox(item.Width, item.Height, size, size)
		require.Equal(t, letterbox.Target(item.Target), batches[0].Targets[i])
		image, err := ReadRaster(item.Image)
		require.NoError(t, err)
		codes := letterbox.Image(image).Codes()
		require.Equal(t, codes, batches[0].Images[i*len(codes):(i+1)*len(codes)])
	}
	require.Zero(t, batches[0].Targets[2].Len())
	require.Equal(t, 1, batches[0].Targets[3].Len())
}

// settledGoroutines requires that no more than base goroutines run. A goroutine
// that has signalled its end is still counted until the scheduler is done with
// it, so a few yields are granted.
func settledGoroutines(t *testing.T, base int) {
	t.Helper()
	for range 100 {
		if runtime.NumGoroutine() <= base {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), base)
}

func TestStreamLeavesNothingBehind(t *testing.T) {
	dataset := writeFolder(t, 9)
	loader := newLoader(t, dataset, recipe(size), LoaderOptions{BatchSize: 2, Workers: 4, Shuffle: true})
	base := runtime.NumGoroutine()

	for batch, err := range loader.Stream(context.Background(), Position{}, 1000) {
		require.NoError(t, err)
		if batch.Epoch == 1 {
			break
		}
	}
	settledGoroutines(t, base)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last error
	count := 0
	for _, err := range loader.Stream(ctx, Position{}, 1000) {
		last = err
		if count++; count == 3 {
			cancel()
		}
		require.Less(t, count, 20, "cancelled long ago")
	}
	require.ErrorIs(t, last, context.Canceled)
	require.Equal(t, 4, count, "batches that were ready must not hide the cancellation")
	settledGoroutines(t, base)

	// However the goroutines interleave, a cancelled stream says so at once and
	// never looks like one that came to its end.
	for range 50 {
		count = 0
		for _, err := range loader.Stream(ctx, Position{}, 1000) {
			count++
			require.ErrorIs(t, err, context.Canceled)
		}
		require.Equal(t, 1, count)
	}
}

func TestUnreadableImageEndsTheStream(t *testing.T) {
	dataset := writeFolder(t, 6)
	require.NoError(t, os.Truncate(dataset.Items[3].Image, 60))
	loader := newLoader(t, dataset, ValidationPipeline(size), LoaderOptions{BatchSize: 2, Workers: 3})
	base := runtime.NumGoroutine()
	var good int
	var failures []error
	for _, err := range loader.Stream(context.Background(), Position{}, 2) {
		if err != nil {
			failures = append(failures, err)
			continue
		}
		good++
	}
	require.Equal(t, 1, good)
	require.Len(t, failures, 1)
	require.ErrorContains(t, failures[0], "image03.png: image ")
	settledGoroutines(t, base)
}

func TestLoaderOptionsAreChecked(t *testing.T) {
	dataset := writeFolder(t, 2)
	good := LoaderOptions{BatchSize: 2, Width: size, Height: size, Workers: 1}
	cases := []struct {
		name   string
		change func(*LoaderOptions)
		want   string
	}{
		{"batch", func(o *LoaderOptions) { o.BatchSize = 0 }, "loader: batch size 0; give at least 1"},
		{"workers", func(o *LoaderOptions) { o.Workers = -1 }, "loader: workers -1; "},
		{"width", func(o *LoaderOptions) { o.Width = 0 }, "loader: width 0; "},
		{"height", func(o *LoaderOptions) { o.Height = 0 }, "loader: height 0; "},
	}
	for _, c := range cases {
		options := good
		c.change(&options)
		_, err := NewLoader(dataset, ValidationPipeline(size), options)
		require.ErrorContains(t, err, c.want)
	}
	_, err := NewLoader(&Dataset{}, ValidationPipeline(size), good)
	require.ErrorContains(t, err, "no images")
	_, err = NewLoader(dataset, ValidationPipeline(0), good)
	require.ErrorContains(t, err, "letterbox: size 0")

	loader, err := NewLoader(dataset, ValidationPipeline(size/2), good)
	require.NoError(t, err)
	for _, err := range loader.Stream(context.Background(), Position{}, 1) {
		require.ErrorContains(t, err, "the pipeline gives 16x16 pixels where batches have 32x32; ")
	}
	loader, err = NewLoader(dataset, Pipeline{LetterboxBase{Size: size}, []Step{failing{}}}, good)
	require.NoError(t, err)
	for _, err := range loader.Stream(context.Background(), Position{}, 1) {
		require.ErrorContains(t, err, "image00.png: augmentation step failing: no luck")
	}
}

// failing is a step that always fails.
type failing struct{}

func (failing) Name() string    { return "failing" }
func (failing) Validate() error { return nil }
func (failing) Apply(*Draw, Sample) (Sample, error) {
	return Sample{}, errors.New("no luck")
}
