package data

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// dotaSplit is where the images and label files of one split of a DOTA data set
// are.
type dotaSplit struct {
	images, labels string
}

// findDOTASplits looks for {split}/images with {split}/labelTxt, and for
// images/{split} with labelTxt/{split}.
func findDOTASplits(root string) map[string]dotaSplit {
	splits := map[string]dotaSplit{}
	for _, split := range splitNames {
		for _, candidate := range []dotaSplit{
			{filepath.Join(root, split, "images"), filepath.Join(root, split, "labelTxt")},
			{filepath.Join(root, "images", split), filepath.Join(root, "labelTxt", split)},
		} {
			if isDirectory(candidate.images) && isDirectory(candidate.labels) {
				splits[split] = candidate
				break
			}
		}
	}
	return splits
}

// openDOTA reads and checks a split of a DOTA data set (data and evaluation
// specification, section 2.4). An image without a label file is background.
func openDOTA(ctx context.Context, config *Config, split string, options Options) (*Dataset, error) {
	paths, ok := config.dota[split]
	if !ok {
		return nil, faultsOrNil([]Fault{{File: config.File, Problem: "no split " + split,
			Remedy: "put images into " + filepath.Join(split, "images") + " and labels into " + filepath.Join(split, "labelTxt")}})
	}
	if options.Format != OrientedRows {
		return nil, faultsOrNil([]Fault{{File: config.File, Problem: "labelTxt holds oriented boxes and the declared format is " + options.Format.Name(),
			Remedy: "use the task obb"}})
	}
	images, faults := directoryImages(paths.images)
	if len(images) == 0 && len(faults) == 0 {
		faults = append(faults, Fault{File: paths.images, Problem: "no images", Remedy: "put .jpg, .jpeg or .png files there"})
	}
	if len(images) == 0 {
		return nil, faultsOrNil(faults)
	}
	checks, err := checkAll(ctx, len(images), func(i int) check { return checkDOTA(images[i], paths.labels, config.Names, options.cache) })
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		checks = append(checks, check{faults: faults})
	}
	return collect(config, split, checks, options.SkipFaulty)
}

func checkDOTA(image, labels string, names []string, cache *cache) check {
	stem := strings.TrimSuffix(filepath.Base(image), filepath.Ext(image))
	found := check{item: Item{Image: image, Label: filepath.Join(labels, stem+".txt")}}
	var fault *Fault
	if found.item.Width, found.item.Height, fault = imageSize(image, cache); fault != nil {
		found.faults = append(found.faults, *fault)
		return found
	}
	text, err := os.ReadFile(found.item.Label)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		found.faults = append(found.faults, Fault{File: found.item.Label, Problem: err.Error(), Remedy: "make the label file readable"})
	default:
		found.labelled = true
		found.item.Target, found.faults = ParseLabelTxt(found.item.Label, text, names)
	}
	return found
}
