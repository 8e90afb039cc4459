package data

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// cocoSplit is where the images and the annotations of one split are.
type cocoSplit struct {
	images, annotations string
}

// splitNames are the splits that a data set may have.
var splitNames = []string{"train", "val", "test"}

// ReadConfig reads the description of a data set: a data.yaml file, or a
// directory that holds one, with YOLO labels; the root of a COCO data set; one of
// its annotation files, which says instances or person_keypoints where the root
// has both; or the root of a DOTA data set with labelTxt directories. A directory
// that follows both conventions or neither is an error (data and evaluation
// specification, section 2.1).
func ReadConfig(path string) (*Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("data set: %w; give a data.yaml file or the root directory of a data set", err)
	}
	if !info.IsDir() && strings.EqualFold(filepath.Ext(path), ".json") {
		return readCOCOFile(path)
	}
	if !info.IsDir() {
		return readYOLOConfig(path)
	}
	yolo := filepath.Join(path, "data.yaml")
	splits := map[string]cocoSplit{}
	for _, split := range splitNames {
		if found, ok := findCOCOSplit(path, split); ok {
			splits[split] = found
		}
	}
	switch {
	case isFile(yolo) && len(splits) > 0:
		return nil, faultsOrNil([]Fault{{File: path, Problem: "both data.yaml and COCO annotations are here",
			Remedy: "give the path of data.yaml, or remove one of them"}})
	case isFile(yolo):
		return readYOLOConfig(yolo)
	case len(splits) > 0:
		return readCOCOConfig(path, splits)
	}
	if dota := findDOTASplits(path); len(dota) > 0 {
		return &Config{File: path, Root: path, Names: DOTAClasses, dota: dota}, nil
	}
	first := cocoCandidates(path, "train")[0]
	return nil, faultsOrNil([]Fault{{File: path, Problem: "neither data.yaml nor COCO annotations are here",
		Remedy: fmt.Sprintf("give %s, or put images into %s and annotations into %s", yamlIn(path), first.images, first.annotations)}})
}

// yamlIn names the yaml file of a directory where there is one: published data
// sets call it after themselves, and it may be about anything.
func yamlIn(directory string) string {
	var found []string
	for _, ending := range []string{"*.yaml", "*.yml"} {
		files, err := filepath.Glob(filepath.Join(directory, ending))
		if err == nil { // a name with a bad pattern in it has no files
			found = append(found, files...)
		}
	}
	if len(found) == 1 {
		return "its yaml file " + found[0]
	}
	return "the path of a yaml file"
}

// cocoCandidates are the places where a split of a COCO root may be, the usual
// one first.
func cocoCandidates(root, split string) []cocoSplit {
	join := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	return []cocoSplit{
		{join(split + "2017"), join("annotations", "instances_"+split+"2017.json")},
		{join(split + "2017"), join("annotations", "person_keypoints_"+split+"2017.json")},
		{join(split), join("annotations", "instances_"+split+".json")},
		{join(split), join("annotations", "person_keypoints_"+split+".json")},
		{join("images", split), join("annotations", "instances_"+split+".json")},
		{join(split), join(split, "_annotations.coco.json")},
	}
}

// findCOCOSplit is the first candidate of which images and annotations exist.
func findCOCOSplit(root, split string) (cocoSplit, bool) {
	for _, candidate := range cocoCandidates(root, split) {
		if isDirectory(candidate.images) && isFile(candidate.annotations) {
			return candidate, true
		}
	}
	return cocoSplit{}, false
}

// readCOCOFile describes the data set of an annotation file: its splits are the
// files of the same name with another split in it.
func readCOCOFile(file string) (*Config, error) {
	directory, name := filepath.Dir(file), filepath.Base(file)
	root := directory
	if filepath.Base(directory) == "annotations" {
		root = filepath.Dir(directory)
	}
	splits := map[string]cocoSplit{}
	for _, own := range splitNames {
		if !strings.Contains(name, own) {
			continue
		}
		for _, split := range splitNames {
			annotations := filepath.Join(directory, strings.Replace(name, own, split, 1))
			if images, ok := cocoImages(root, split); ok && isFile(annotations) {
				splits[split] = cocoSplit{images, annotations}
			}
		}
		break
	}
	if len(splits) == 0 {
		return nil, faultsOrNil([]Fault{{File: file, Problem: "no images beside this annotation file",
			Remedy: "name the file after its split, such as instances_train2017.json, and put the images into train2017, train or images/train"}})
	}
	return readCOCOConfig(root, splits)
}

func cocoImages(root, split string) (string, bool) {
	for _, candidate := range []string{split + "2017", split, filepath.Join("images", split)} {
		if isDirectory(filepath.Join(root, candidate)) {
			return filepath.Join(root, candidate), true
		}
	}
	return "", false
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// conventional is where the images of a split are in a YOLO data set whose
// data.yaml does not say: {split}/images, then images/{split}, each with its
// labels beside it.
func (c *Config) conventional(split string) (directory string, ok bool) {
	for _, candidate := range [][2]string{
		{filepath.Join(split, "images"), filepath.Join(split, "labels")},
		{filepath.Join("images", split), filepath.Join("labels", split)},
	} {
		if isDirectory(filepath.Join(c.Root, candidate[0])) && isDirectory(filepath.Join(c.Root, candidate[1])) {
			return candidate[0], true
		}
	}
	return "", false
}

// Has tells whether the data set has a split ("train", "val" or "test").
func (c *Config) Has(split string) bool {
	if c.coco != nil {
		_, found := c.coco[split]
		return found
	}
	if c.dota != nil {
		_, found := c.dota[split]
		return found
	}
	if _, found := c.splits[split]; found {
		return true
	}
	_, found := c.conventional(split)
	return found
}
