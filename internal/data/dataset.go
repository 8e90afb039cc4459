package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Item is one image of a data set with its labels.
type Item struct {
	// Image and Label are file paths; Label need not exist.
	Image, Label string
	// Width and Height are the image's size in pixels.
	Width, Height int
	// Target is in pixels of the image.
	Target Target
}

// Dataset is one checked split: every image has been decoded once and every
// label row read.
type Dataset struct {
	// Names holds the class names by dense class index.
	Names []string
	// Items are the images in the order of the split.
	Items []Item
	// Backgrounds counts the images without instances: those with an empty
	// label file and those with none.
	Backgrounds int
	// Duplicates counts the label rows dropped as repetitions.
	Duplicates int
	// Skipped holds the faults of the images left out, see Options.SkipFaulty.
	Skipped []Fault
}

// Options say how a split is read.
type Options struct {
	// Format is the declared variant of the label rows.
	Format RowFormat
	// SkipFaulty leaves out an image that has a fault or whose labels have one,
	// and lists it in Dataset.Skipped, instead of refusing the data set.
	SkipFaulty bool
}

// Open reads and checks a split. An image without a label file, or with an empty
// one, is background. Every image is decoded, so that a damaged one is listed
// here and does not end a fit in its middle; all faults come in one FaultsError.
func Open(ctx context.Context, config *Config, split string, options Options) (*Dataset, error) {
	if options.Format == nil {
		return nil, fmt.Errorf("data: no label format declared; give BoxRows or OrientedRows")
	}
	images, err := config.Images(split)
	if err != nil {
		return nil, err
	}
	checks := make([]check, len(images))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, image := range images {
		group.Go(func() error {
			checks[i] = checkImage(image, options.Format, len(config.Names))
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return collect(config, split, checks, options.SkipFaulty)
}

// check is what reading one image and its labels found.
type check struct {
	item       Item
	labelled   bool
	duplicates int
	faults     []Fault
}

func checkImage(image string, format RowFormat, classes int) check {
	found := check{item: Item{Image: image}}
	var err error
	if found.item.Label, err = labelPath(image); err != nil {
		found.faults = append(found.faults, Fault{File: image, Problem: err.Error(),
			Remedy: "put images under a directory named images, and labels beside it under labels"})
		return found
	}
	decoded, err := decode(image)
	if err != nil {
		found.faults = append(found.faults, imageFault(image, err))
		return found
	}
	found.item.Width, found.item.Height = decoded.Bounds().Dx(), decoded.Bounds().Dy()
	text, err := os.ReadFile(found.item.Label)
	if errors.Is(err, fs.ErrNotExist) {
		return found
	}
	if err != nil {
		found.faults = append(found.faults, Fault{File: found.item.Label, Problem: err.Error(), Remedy: "make the label file readable"})
		return found
	}
	labels, faults := ParseLabels(found.item.Label, text, format, classes, found.item.Width, found.item.Height)
	found.labelled = true
	found.item.Target, found.duplicates, found.faults = labels.Target, labels.Duplicates, faults
	return found
}

func collect(config *Config, split string, checks []check, skip bool) (*Dataset, error) {
	dataset := &Dataset{Names: config.Names}
	var faults []Fault
	labelled := false
	for _, found := range checks {
		faults = append(faults, found.faults...)
		labelled = labelled || found.labelled
		if len(found.faults) > 0 {
			continue
		}
		dataset.Items = append(dataset.Items, found.item)
		dataset.Duplicates += found.duplicates
		if found.item.Target.Len() == 0 {
			dataset.Backgrounds++
		}
	}
	// One image without labels is background; a whole split without any is a
	// labels directory in the wrong place, and would train on nothing.
	if !labelled && len(faults) == 0 {
		return nil, faultsOrNil([]Fault{{File: config.File, Line: config.splits[split].line,
			Problem: fmt.Sprintf("none of the %d images of %s has a label file", len(checks), split),
			Remedy:  "the first one is expected at " + checks[0].item.Label}})
	}
	if !skip || len(dataset.Items) == 0 {
		if err := faultsOrNil(faults); err != nil {
			return nil, err
		}
	}
	dataset.Skipped = faults
	return dataset, nil
}

// Instances counts the instances of all images.
func (d *Dataset) Instances() int {
	count := 0
	for _, item := range d.Items {
		count += item.Target.Len()
	}
	return count
}

// Sample reads image i with a copy of its target. An image that changed its size
// since Open is refused, for its labels no longer fit.
func (d *Dataset) Sample(i int) (Sample, error) {
	item := d.Items[i]
	image, err := ReadImage(item.Image)
	if err != nil {
		return Sample{}, err
	}
	if image.Width != item.Width || image.Height != item.Height {
		return Sample{}, faultsOrNil([]Fault{{File: item.Image,
			Problem: fmt.Sprintf("image is %dx%d and was %dx%d when the data set was opened",
				image.Width, image.Height, item.Width, item.Height),
			Remedy: "leave the data set alone during a fit"}})
	}
	return Sample{Image: image, Target: item.Target.Clone()}, nil
}
