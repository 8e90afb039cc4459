//go:build unix

package data

import (
	"bufio"
	"context"
	"fmt"
	"image/jpeg"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// photographs writes a data set of JPEG images of the size of COCO's, with
// polygons, and opens it with a warm cache.
func photographs(b *testing.B, count int) *Dataset {
	b.Helper()
	root := b.TempDir()
	require.NoError(b, os.MkdirAll(filepath.Join(root, "images/train"), 0o755))
	require.NoError(b, os.MkdirAll(filepath.Join(root, "labels/train"), 0o755))
	for i := range count {
		file, err := os.Create(filepath.Join(root, fmt.Sprintf("images/train/%02d.jpg", i)))
		require.NoError(b, err)
		require.NoError(b, jpeg.Encode(file, drawing(640, 480, i), nil))
		require.NoError(b, file.Close())
		rows := fmt.Sprintf("0 .%d .1 .7 .2 .8 .8 .3 .9\n", 1+i%9)
		require.NoError(b, os.WriteFile(filepath.Join(root, fmt.Sprintf("labels/train/%02d.txt", i)), []byte(rows), 0o644))
	}
	require.NoError(b, os.WriteFile(filepath.Join(root, "data.yaml"), []byte("train: images/train\nnames: [a]\n"), 0o644))
	config, err := ReadConfig(root)
	require.NoError(b, err)
	options := Options{Format: PolygonRows, CacheDir: filepath.Join(root, "cache")}
	cold, err := Open(context.Background(), config, "train", options)
	require.NoError(b, err)
	require.NoError(b, cold.Close())
	dataset, err := Open(context.Background(), config, "train", options)
	require.NoError(b, err)
	require.Zero(b, dataset.Cache().Decoded)
	b.Cleanup(func() { _ = dataset.Close() })
	return dataset
}

// BenchmarkMosaicImages makes training batches of 640 x 640 pixels, every image a
// mosaic, from a warm cache with one worker per processor. The target is 150
// images per second on two processors, so 13 ms of processor time an image, which
// other work on the machine does not change as much as the wall time.
func BenchmarkMosaicImages(b *testing.B) {
	dataset := photographs(b, 64)
	pipeline := TrainingPipeline(Augmentation{Size: 640, Mosaic: 1, CopyPaste: 0.1, Flip: 0.5, CloseEpoch: 1 << 30,
		Affine: Affine{Scale: 0.5, Translate: 0.1}, HSV: DefaultHSV})
	loader, err := NewLoader(dataset, pipeline, LoaderOptions{BatchSize: 16, Width: 640, Height: 640,
		Workers: runtime.GOMAXPROCS(0), Seed: 1, Shuffle: true})
	require.NoError(b, err)
	images := 0
	before := processorTime(b)
	b.ResetTimer()
	for batch, err := range loader.Stream(context.Background(), Position{}, 1<<30) {
		require.NoError(b, err)
		if images += batch.N; images >= b.N {
			break
		}
	}
	b.ReportMetric(float64(images)/b.Elapsed().Seconds(), "images/s")
	b.ReportMetric((processorTime(b)-before).Seconds()*1e3/float64(images), "cpu-ms/image")
	b.ReportMetric(peakMegabytes(b), "peak-MB")
}

// BenchmarkSteps times the parts of a mosaic image on one processor.
func BenchmarkSteps(b *testing.B) {
	dataset := photographs(b, 8)
	base := GeometricBase{Size: 640, Mosaic: 1, CloseEpoch: 1, Affine: Affine{Scale: 0.5, Translate: 0.1}}
	turned := base
	turned.Affine.Degrees = 10
	at := func(i int) *Draw { return &Draw{Random: stream(1, purposeAugment, 0, i), Source: dataset} }
	for _, c := range []struct {
		name string
		base Base
	}{{"upright", base}, {"turned", turned}, {"letterbox", LetterboxBase{Size: 640}}} {
		b.Run(c.name, func(b *testing.B) {
			before := processorTime(b)
			for i := 0; b.Loop(); i++ {
				sample, err := c.base.Sample(at(i), i%8)
				require.NoError(b, err)
				sample.Image.Codes()
				recycle(sample.Image)
			}
			b.ReportMetric((processorTime(b)-before).Seconds()*1e3/float64(b.N), "cpu-ms/image")
		})
	}
	sample, err := base.Sample(at(1), 0)
	require.NoError(b, err)
	for _, step := range []Step{DefaultHSV, FlipStep{Probability: 1}} {
		b.Run(step.Name(), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				_, err := step.Apply(at(i), sample)
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkCOCO reads an annotation file of the size of COCO's training split: 450
// MB, 118 000 images and 860 000 instances with rings of 26 points. To pass over it
// takes little memory whatever its size; what a data set keeps for training is boxes
// and rings in binary, about as much as the file, and the peak has the collector's
// garbage beside it.
func BenchmarkCOCO(b *testing.B) {
	file := filepath.Join(b.TempDir(), "instances.json")
	size := writeInstances(b, file, 118000, 860000)
	b.Run("pass", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			require.NoError(b, visitCOCO(file, cocoVisitor{annotation: func(cocoAnnotation, int64) {}}))
		}
		b.ReportMetric(peakMegabytes(b), "peak-MB")
	})
	b.Run("keep", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			reader := newCOCOReader(&Config{categories: []int64{3}}, cocoSplit{annotations: file}, Options{Format: PolygonRows})
			require.NoError(b, reader.read())
			require.Len(b, reader.order, 118001)
		}
		b.ReportMetric(peakMegabytes(b), "peak-MB")
	})
}

// writeInstances writes an annotation file and gives its size in bytes.
func writeInstances(b *testing.B, file string, images, instances int) int64 {
	b.Helper()
	opened, err := os.Create(file)
	require.NoError(b, err)
	w := bufio.NewWriter(opened)
	fmt.Fprint(w, `{"categories": [{"id": 3, "name": "plane"}], "images": [`)
	for i := range images {
		fmt.Fprintf(w, `{"id": %d, "file_name": "%012d.jpg", "width": 640, "height": 480},`, i+1, i+1)
	}
	fmt.Fprint(w, `{"id": 0, "file_name": "0.jpg", "width": 640, "height": 480}], "annotations": [`)
	ring := strings.TrimSuffix(strings.Repeat("123.45,467.81,", 26), ",")
	for i := range instances {
		fmt.Fprintf(w, `{"id": %d, "image_id": %d, "category_id": 3, "bbox": [1.5,1.25,20,22], "area": 440, "iscrowd": 0, "segmentation": [[%s]]},`, i+1, i%images+1, ring)
	}
	fmt.Fprintf(w, `{"id": 0, "image_id": 1, "category_id": 3, "bbox": [1.5,1.25,20,22], "segmentation": [[%s]]}]}`, ring)
	require.NoError(b, w.Flush())
	info, err := opened.Stat()
	require.NoError(b, err)
	require.NoError(b, opened.Close())
	return info.Size()
}

// peakMegabytes is the largest heap that the process has asked the system for.
func peakMegabytes(b *testing.B) float64 {
	b.Helper()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapSys) / 1e6
}

// processorTime is what the process has used of all processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
