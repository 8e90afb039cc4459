package run

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/picture"
	"github.com/reprise-ml/reprise/internal/survey"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// Pictures of the first batches in a run folder, with their labels.
const (
	TrainBatchName      = "train-batch.png"
	ValidationBatchName = "val-batch.png"
)

// mostSamples bounds the images on a picture of a batch.
const mostSamples = 16

// drawBatches draws the first batch of training, as the network sees it, and of
// validation.
func drawBatches(ctx context.Context, dir string, d trainer.Data) error {
	if err := drawBatch(ctx, filepath.Join(dir, TrainBatchName), d.Train); err != nil || d.Validation == nil {
		return err
	}
	return drawBatch(ctx, filepath.Join(dir, ValidationBatchName), d.Validation)
}

func drawBatch(ctx context.Context, file string, loader *data.Loader) error {
	for batch, err := range loader.Stream(ctx, data.Position{}, 1) {
		if err != nil {
			return err
		}
		var tiles []picture.Tile
		size := 3 * batch.W * batch.H
		for i := range min(batch.N, mostSamples) {
			raster := data.Raster{Width: batch.W, Height: batch.H, Pixels: batch.Images[i*size : (i+1)*size]}
			if batch.Jitter != nil { // the device would change the colours
				batch.Jitter[i].Apply(raster.Pixels)
			}
			drawn, err := survey.Annotate(raster.Standard(), batch.Targets[i], loader.Dataset())
			if err != nil {
				return fmt.Errorf("%s: %w", batch.Paths[i], err)
			}
			tiles = append(tiles, picture.Tile{Image: drawn, Caption: filepath.Base(batch.Paths[i])})
		}
		sheet, err := picture.Sheet(tiles, 4, max(32, min(batch.W, 480)))
		if err != nil {
			return err
		}
		return picture.WritePNG(file, sheet)
	}
	return nil
}
