package survey

import (
	"context"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/picture"
)

// ViewRequest says which labels to draw.
type ViewRequest struct {
	Path  string // data.yaml or a root
	Task  string // empty: suggested by the labels
	Split string
	Count int    // images
	Dir   string // receives the pictures
	// Pipeline draws images as training sees them, of Size pixels; nil draws
	// them as they are.
	Pipeline *data.Pipeline
	Size     int
}

// sheetSide is the side of a picture on a contact sheet in pixels.
const sheetSide = 480

// View draws the first images of a split with their labels, one PNG each and a
// contact sheet of all, and returns the files.
func View(ctx context.Context, r ViewRequest) ([]string, error) {
	config, task, _, err := describe(r.Path, r.Task)
	if err != nil {
		return nil, err
	}
	format, err := config.Rows(task)
	if err != nil {
		return nil, err
	}
	dataset, err := data.Open(ctx, config, r.Split, data.Options{Format: format, SkipFaulty: true})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w; give a directory that can be written", err)
	}
	samples, err := r.samples(ctx, dataset)
	if err != nil {
		return nil, err
	}
	var files []string
	var tiles []picture.Tile
	for i, sample := range samples {
		drawn, err := Annotate(sample.image, sample.target, dataset)
		if err != nil {
			return nil, err
		}
		base := filepath.Base(sample.path)
		file := filepath.Join(r.Dir, fmt.Sprintf("%03d-%s.png", i, strings.TrimSuffix(base, filepath.Ext(base))))
		if err := picture.WritePNG(file, drawn); err != nil {
			return nil, err
		}
		files, tiles = append(files, file), append(tiles, picture.Tile{Image: drawn, Caption: base})
	}
	sheet, err := picture.Sheet(tiles, 4, sheetSide)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(r.Dir, "sheet.png")
	return append(files, file), picture.WritePNG(file, sheet)
}

// labelled is an image to draw with its labels.
type labelled struct {
	path   string
	image  image.Image
	target data.Target
}

func (r ViewRequest) samples(ctx context.Context, dataset *data.Dataset) ([]labelled, error) {
	if r.Pipeline != nil {
		return r.augmented(ctx, dataset)
	}
	var samples []labelled
	for i := range min(r.Count, dataset.Len()) {
		native, err := dataset.Native(i)
		if err != nil {
			return nil, err
		}
		samples = append(samples, labelled{dataset.Items[i].Image, native.Raster.Standard(), native.Target})
	}
	return samples, nil
}

// augmented are the first samples of a fit, over as many epochs as it takes.
func (r ViewRequest) augmented(ctx context.Context, dataset *data.Dataset) ([]labelled, error) {
	loader, err := data.NewLoader(dataset, *r.Pipeline, data.LoaderOptions{BatchSize: 1, Width: r.Size, Height: r.Size, Workers: 1, Shuffle: true})
	if err != nil {
		return nil, err
	}
	var samples []labelled
	for batch, err := range loader.Stream(ctx, data.Position{}, (r.Count+dataset.Len()-1)/dataset.Len()) {
		if err != nil {
			return nil, err
		}
		raster := data.Raster{Width: batch.W, Height: batch.H, Pixels: batch.Images}
		samples = append(samples, labelled{batch.Paths[0], raster.Standard(), batch.Targets[0]})
		if len(samples) == r.Count {
			break
		}
	}
	return samples, nil
}
