package data

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Dataset is one checked split: every image has been decoded once and every
// label row read.
type Dataset struct {
	// Names holds the class names by dense class index.
	Names []string
	// Schema tells what the keypoints are, as far as the data set says.
	Schema KeypointSchema
	// Items are the images in the order of the split.
	Items []Item
	// Backgrounds counts the images without instances: those with an empty
	// label file and those with none.
	Backgrounds int
	// Duplicates counts the label rows dropped as repetitions.
	Duplicates int
	// Skipped holds the faults of the images left out, see Options.SkipFaulty.
	Skipped []Fault
	// Categories are the COCO category ids by dense class index, nil for YOLO.
	Categories []int64
	// Crowds counts the COCO regions marked as crowds, which are kept for
	// evaluation only, and Unusable the annotations left out because their outline
	// cannot be used.
	Crowds, Unusable int

	cache *cache
}

// Options say how a split is read.
type Options struct {
	// Format is the declared variant of the label rows.
	Format RowFormat
	// SkipFaulty leaves out an image that has a fault or whose labels have one,
	// and lists it in Dataset.Skipped, instead of refusing the data set.
	SkipFaulty bool
	// Evaluation keeps of a COCO data set with boxes, masks or keypoints what
	// evaluation needs and training leaves out: crowd regions, annotated areas,
	// all rings and run lengths. Items then have Annotated in place of Target.
	Evaluation bool
	// CacheDir is a directory that keeps decoded images, shared by fits; without
	// one every image is decoded anew at each use.
	CacheDir string

	cache *cache
}

// Open reads and checks a split. An image without a label file, or with an empty
// one, is background. Every image is decoded, so that a damaged one is listed
// here and does not end a fit in its middle; all faults come in one FaultsError.
func Open(ctx context.Context, config *Config, split string, options Options) (*Dataset, error) {
	if options.Format == nil {
		return nil, fmt.Errorf("data: no label format declared; give BoxRows or OrientedRows")
	}
	if options.CacheDir == "" {
		return openSplit(ctx, config, split, options)
	}
	name, err := cacheName(config, split)
	if err != nil {
		return nil, err
	}
	if options.cache, err = openCache(options.CacheDir, name); err != nil {
		return nil, err
	}
	dataset, err := openSplit(ctx, config, split, options)
	if err == nil {
		err = options.cache.finish()
	}
	if err != nil {
		return nil, errors.Join(err, options.cache.close())
	}
	dataset.cache = options.cache
	return dataset, nil
}

// cacheName tells the caches of different data sets and splits apart.
func cacheName(config *Config, split string) (string, error) {
	path, err := filepath.Abs(config.File)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s-%x", split, sha256.Sum256([]byte(path)))[:len(split)+13], nil
}

func openSplit(ctx context.Context, config *Config, split string, options Options) (*Dataset, error) {
	if config.coco != nil {
		return openCOCO(ctx, config, split, options)
	}
	if config.dota != nil {
		return openDOTA(ctx, config, split, options)
	}
	images, err := config.Images(split)
	var listed *FaultsError
	if err != nil && (len(images) == 0 || !errors.As(err, &listed)) {
		return nil, err
	}
	checks, err := checkAll(ctx, len(images), func(i int) check {
		return checkImage(images[i], options, len(config.Names))
	})
	if err != nil {
		return nil, err
	}
	if listed != nil {
		checks = append(checks, check{faults: listed.Faults})
	}
	return collect(config, split, checks, options.SkipFaulty)
}

// checkAll runs the check of every image on all processors.
func checkAll(ctx context.Context, count int, one func(i int) check) ([]check, error) {
	checks := make([]check, count)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range checks {
		group.Go(func() error {
			checks[i] = one(i)
			return ctx.Err()
		})
	}
	return checks, group.Wait()
}

// check is what reading one image and its labels found.
type check struct {
	item       Item
	labelled   bool
	duplicates int
	faults     []Fault
}

func checkImage(image string, options Options, classes int) check {
	found := check{item: Item{Image: image}}
	var err error
	if found.item.Label, err = labelPath(image); err != nil {
		found.faults = append(found.faults, Fault{File: image, Problem: err.Error(),
			Remedy: "put images under a directory named images, and labels beside it under labels"})
		return found
	}
	var fault *Fault
	if found.item.Width, found.item.Height, fault = imageSize(image, options.cache); fault != nil {
		found.faults = append(found.faults, *fault)
		return found
	}
	text, err := os.ReadFile(found.item.Label)
	if errors.Is(err, fs.ErrNotExist) {
		return found
	}
	if err != nil {
		found.faults = append(found.faults, Fault{File: found.item.Label, Problem: err.Error(), Remedy: "make the label file readable"})
		return found
	}
	labels, faults := ParseLabels(found.item.Label, text, options.Format, classes, found.item.Width, found.item.Height)
	found.labelled = true
	found.item.Target, found.duplicates, found.faults = labels.Target, labels.Duplicates, faults
	return found
}

func collect(config *Config, split string, checks []check, skip bool) (*Dataset, error) {
	dataset := &Dataset{Names: config.Names, Schema: config.Schema}
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
		if found.item.instances() == 0 {
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
	if len(faults) > 0 && (!skip || len(dataset.Items) == 0) {
		return nil, &FaultsError{Faults: faults, Skippable: len(dataset.Items) > 0}
	}
	dataset.Skipped = faults
	return dataset, nil
}

// Instances counts the instances of all images, crowds left out.
func (d *Dataset) Instances() int {
	count := 0
	for _, item := range d.Items {
		count += item.instances()
	}
	return count
}

// imageSize is the size in pixels of an image that can be decoded: the cache has
// decoded it before, or it is decoded now.
func imageSize(file string, cache *cache) (width, height int, fault *Fault) {
	if cache != nil {
		return cache.add(file)
	}
	decoded, err := decode(file)
	if err != nil {
		found := imageFault(file, err)
		return 0, 0, &found
	}
	return decoded.Bounds().Dx(), decoded.Bounds().Dy(), nil
}

// Len is the number of images.
func (d *Dataset) Len() int { return len(d.Items) }

// Native is an image in its native size with its target.
type Native struct {
	Raster *Raster
	Target Target
}

// Native reads image i with a copy of its target. An image that changed its size
// since Open is refused, for its labels no longer fit.
func (d *Dataset) Native(i int) (Native, error) {
	item := d.Items[i]
	raster, err := d.raster(item.Image)
	if err != nil {
		return Native{}, err
	}
	if raster.Width != item.Width || raster.Height != item.Height {
		return Native{}, faultsOrNil([]Fault{{File: item.Image,
			Problem: fmt.Sprintf("image is %dx%d and was %dx%d when the data set was opened",
				raster.Width, raster.Height, item.Width, item.Height),
			Remedy: "leave the data set alone during a fit"}})
	}
	return Native{Raster: raster, Target: item.Target.Clone()}, nil
}

func (d *Dataset) raster(file string) (*Raster, error) {
	if d.cache != nil {
		return d.cache.raster(file)
	}
	return ReadRaster(file)
}

// CacheState tells what the cache of a data set holds and did.
type CacheState struct {
	// Bytes is the size on disk. Decoded images were not in the cache when the
	// data set was opened; the pixels of Repaired ones were damaged since.
	Bytes, Decoded, Repaired int64
}

// Cache is the state of the cache, zero without one.
func (d *Dataset) Cache() CacheState {
	if d.cache == nil {
		return CacheState{}
	}
	return CacheState{Bytes: d.cache.bytes(), Decoded: d.cache.decoded.Load(), Repaired: d.cache.repaired.Load()}
}

// Close releases the cache; the images of the data set can no longer be read
// after it. Without a cache there is nothing to release.
func (d *Dataset) Close() error {
	if d.cache == nil {
		return nil
	}
	return d.cache.close()
}
