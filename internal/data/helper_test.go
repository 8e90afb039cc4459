package data

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// writeFile writes text to a path under directory, making the folders on the way.
func writeFile(t testing.TB, directory, path, text string) string {
	t.Helper()
	file := filepath.Join(directory, filepath.FromSlash(path))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// drawing is an image whose pixels all differ by place and by seed.
func drawing(width, height, seed int) *image.NRGBA {
	drawn := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			drawn.SetNRGBA(x, y, color.NRGBA{
				R: uint8(7*x + 40*seed), G: uint8(5*y + 3*x + seed), B: uint8(x * y * (seed + 1)), A: 255,
			})
		}
	}
	return drawn
}

// writeImage draws an image under directory in the format of the path's ending.
func writeImage(t testing.TB, directory, path string, width, height, seed int) string {
	t.Helper()
	file := writeFile(t, directory, path, "")
	opened, err := os.Create(file)
	require.NoError(t, err)
	defer opened.Close()
	if filepath.Ext(path) == ".png" {
		require.NoError(t, png.Encode(opened, drawing(width, height, seed)))
	} else {
		require.NoError(t, jpeg.Encode(opened, drawing(width, height, seed), nil))
	}
	return file
}

// writeFolder writes a data set of count labelled images in split train, with
// one oriented instance in every image but each third, and opens it.
func writeFolder(t *testing.T, count int) *Dataset { return writeFolderAs(t, count, OrientedRows) }

// writeFolderAs is writeFolder with the rows read as four corners or as outlines.
func writeFolderAs(t *testing.T, count int, format RowFormat) *Dataset {
	t.Helper()
	directory := t.TempDir()
	for i := range count {
		name := fmt.Sprintf("image%02d", i)
		writeImage(t, directory, "images/train/"+name+".png", 20+3*i, 16+i, i)
		row := ""
		if i%3 != 0 {
			row = fmt.Sprintf("%d 0.1 0.1 0.5 0.1 0.5 0.3 0.1 0.3\n", i%2)
		}
		writeFile(t, directory, "labels/train/"+name+".txt", row)
	}
	writeFile(t, directory, "data.yaml", "train: images/train\nnames: [plane, ship]\n")
	return openFolder(t, directory, "train", Options{Format: format})
}

func openFolder(t *testing.T, directory, split string, options Options) *Dataset {
	t.Helper()
	config, err := ReadConfig(filepath.Join(directory, "data.yaml"))
	require.NoError(t, err)
	dataset, err := Open(context.Background(), config, split, options)
	require.NoError(t, err)
	return dataset
}

// recipe is the YOLO26 training pipeline with every step switched on.
func recipe(side int) Pipeline {
	return TrainingPipeline(Augmentation{
		Size: side, Mosaic: 1, Mixup: 0.3, CopyPaste: 0.3, Flip: 0.5, CloseEpoch: 2,
		Affine: Affine{Scale: 0.5, Translate: 0.1}, HSV: DefaultHSV,
	})
}
