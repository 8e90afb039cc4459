package data

import (
	"errors"
	"fmt"

	"github.com/reprise-ml/reprise/internal/eval/mask"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Position is a place in a fit: the batch of that number in that epoch, both
// counted from 0.
type Position struct {
	Epoch, Batch int
}

// Batch is N images of one size with their targets.
type Batch struct {
	// Position is the place of the batch in the fit.
	Position
	// Images holds the 8-bit codes (N, H, W, 3); code k stands for k/255.
	Images []uint8
	// Jitter holds, when LoaderOptions.DeviceColors is set, how the colours of
	// every image are still to be changed; otherwise it is nil.
	Jitter []device.Jitter
	// N, H and W are the number, height and width of the images.
	N, H, W int
	// Targets and Paths hold one entry per image, in pixels of the H x W canvas.
	Targets []Target
	Paths   []string
	// Masks holds, when LoaderOptions.Masks is set, one mask per instance of
	// every image on the grid of (H/MaskStride, W/MaskStride) cells.
	Masks [][]*mask.Bitmap
}

// LoaderOptions say how batches are made.
type LoaderOptions struct {
	// BatchSize is the number of images in every batch but the last of an epoch.
	BatchSize int
	// Width and Height are the size in pixels that the pipeline gives.
	Width, Height int
	// Workers is the number of goroutines that read and augment images. It has
	// no influence on the batches.
	Workers int
	// Seed decides the order and the augmentation.
	Seed uint64
	// Shuffle draws a new order for every epoch; otherwise it is the data
	// set's own.
	Shuffle bool
	// Masks rasterises the instances' rings for segmentation.
	Masks bool
	// DeviceColors leaves the jitter of colours to the device, which makes the
	// same codes of it: batches carry the jitters in place of applying them.
	DeviceColors bool
}

// Loader makes the batches of a fit from a data set and a pipeline.
type Loader struct {
	dataset  *Dataset
	pipeline Pipeline
	options  LoaderOptions
}

// NewLoader checks the options and the pipeline; the dataset has been checked by
// Open.
func NewLoader(dataset *Dataset, pipeline Pipeline, options LoaderOptions) (*Loader, error) {
	for _, option := range []struct {
		name  string
		value int
	}{
		{"batch size", options.BatchSize}, {"workers", options.Workers},
		{"width", options.Width}, {"height", options.Height},
	} {
		if option.value < 1 {
			return nil, fmt.Errorf("loader: %s %d; give at least 1", option.name, option.value)
		}
	}
	if len(dataset.Items) == 0 {
		return nil, fmt.Errorf("loader: the data set has no images; open a split that has some")
	}
	if err := pipeline.Validate(); err != nil {
		return nil, fmt.Errorf("loader: %w", err)
	}
	return &Loader{dataset, pipeline, options}, nil
}

// Batches is the number of batches of an epoch, the short last one included.
func (l *Loader) Batches() int {
	return (len(l.dataset.Items) + l.options.BatchSize - 1) / l.options.BatchSize
}

// batchIndices are the images of a batch of an epoch in the given order.
func (l *Loader) batchIndices(order []int, batch int) []int {
	start := batch * l.options.BatchSize
	return order[start:min(start+l.options.BatchSize, len(order))]
}

// load makes image index of an epoch and writes its codes and target into slot
// of the batch.
func (l *Loader) load(batch *Batch, slot, index int) error {
	path := l.dataset.Items[index].Image
	draw := &Draw{Random: stream(l.options.Seed, purposeAugment, batch.Epoch, index), Epoch: batch.Epoch, Source: l.dataset}
	sample, err := l.pipeline.Sample(draw, index)
	if fault := (*FaultsError)(nil); errors.As(err, &fault) {
		return fault // it names its own file
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer recycle(sample.Image)
	if err := sample.Target.Validate(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if sample.Image.Width != batch.W || sample.Image.Height != batch.H {
		return fmt.Errorf("%s: the pipeline gives %dx%d pixels where batches have %dx%d; make the letterbox and the loader agree",
			path, sample.Image.Width, sample.Image.Height, batch.W, batch.H)
	}
	size := 3 * batch.W * batch.H
	codes := batch.Images[slot*size : (slot+1)*size]
	sample.Image.Draw(codes)
	if batch.Jitter != nil {
		batch.Jitter[slot] = sample.Jitter
	} else {
		sample.Jitter.Apply(codes)
	}
	batch.Targets[slot], batch.Paths[slot] = sample.Target, path
	if batch.Masks == nil {
		return nil
	}
	masks, err := InstanceMasks(sample.Target, batch.W, batch.H, batch.W/MaskStride, batch.H/MaskStride)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	batch.Masks[slot] = masks
	return nil
}

func (l *Loader) newBatch(at Position, count int) *Batch {
	width, height := l.options.Width, l.options.Height
	batch := &Batch{
		Position: at,
		Images:   make([]uint8, count*height*width*3),
		N:        count,
		H:        height,
		W:        width,
		Targets:  make([]Target, count),
		Paths:    make([]string, count),
	}
	if l.options.DeviceColors {
		batch.Jitter = make([]device.Jitter, count)
	}
	if l.options.Masks {
		batch.Masks = make([][]*mask.Bitmap, count)
	}
	return batch
}

// Images is the number of images of an epoch.
func (l *Loader) Images() int { return len(l.dataset.Items) }

// Dataset is the data set that the loader reads.
func (l *Loader) Dataset() *Dataset { return l.dataset }
