package data

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readable are the file name endings of the image formats that are decoded.
var readable = []string{".jpg", ".jpeg", ".png"}

// unreadable are endings of image formats that users have and that are not
// decoded; a file of these is a fault, since leaving it out would silently
// shrink the data set.
var unreadable = []string{".avif", ".bmp", ".dng", ".gif", ".heic", ".jp2", ".mpo", ".pfm", ".tif", ".tiff", ".webp"}

// Images returns the image files of a split ("train", "val" or "test"). A
// directory is searched with its subdirectories and gives sorted paths; a .txt
// file gives its lines in order, relative to the file.
func (c *Config) Images(split string) ([]string, error) {
	entry, ok := c.splits[split]
	if !ok {
		if directory, found := c.conventional(split); found {
			entry, ok = splitEntry{paths: []string{directory}}, true
		}
	}
	if !ok {
		return nil, faultsOrNil([]Fault{{File: c.File, Problem: "no entry for " + split,
			Remedy: fmt.Sprintf("add %s: with a directory of images", split)}})
	}
	var images []string
	var faults []Fault
	for _, path := range entry.paths {
		found, more := c.entryImages(path, entry.line)
		images = append(images, found...)
		faults = append(faults, more...)
	}
	if len(images) == 0 && len(faults) == 0 {
		faults = append(faults, Fault{File: c.File, Line: entry.line, Problem: split + " has no images",
			Remedy: "point it to a directory with .jpg, .jpeg or .png files"})
	}
	return images, faultsOrNil(faults)
}

func (c *Config) entryImages(entry string, line int) ([]string, []Fault) {
	for _, path := range c.candidates(entry) {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			return directoryImages(path)
		case strings.EqualFold(filepath.Ext(path), ".txt"):
			return listedImages(path)
		default:
			return nil, []Fault{{File: c.File, Line: line, Problem: path + " is neither a directory nor a .txt file",
				Remedy: "give a directory of images or a .txt list of them"}}
		}
	}
	return nil, []Fault{{File: c.File, Line: line, Problem: c.candidates(entry)[0] + " does not exist",
		Remedy: "correct the path or put the images there; download scripts are not run"}}
}

// candidates are the places an entry may mean: taken literally, then without
// the leading ".." components that exporters write for their own layout.
func (c *Config) candidates(entry string) []string {
	entry = filepath.FromSlash(entry)
	if filepath.IsAbs(entry) {
		return []string{entry}
	}
	literal := filepath.Join(c.Root, entry)
	stripped := filepath.Clean(entry)
	for stripped == ".." || strings.HasPrefix(stripped, ".."+string(filepath.Separator)) {
		stripped = strings.TrimPrefix(strings.TrimPrefix(stripped, ".."), string(filepath.Separator))
	}
	if stripped = filepath.Join(c.Root, stripped); stripped == literal {
		return []string{literal}
	}
	return []string{literal, stripped}
}

func directoryImages(directory string) ([]string, []Fault) {
	var images []string
	var faults []Fault
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		ending := strings.ToLower(filepath.Ext(path))
		if slices.Contains(readable, ending) {
			images = append(images, path)
		} else if slices.Contains(unreadable, ending) {
			faults = append(faults, unreadableFault(path, 0, path))
		}
		return nil
	})
	if err != nil {
		faults = append(faults, Fault{File: directory, Problem: err.Error(), Remedy: "make the directory readable"})
	}
	slices.Sort(images)
	return images, faults
}

func listedImages(list string) ([]string, []Fault) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, []Fault{{File: list, Problem: err.Error(), Remedy: "make the list readable"}}
	}
	var images []string
	var faults []Fault
	for i, row := range strings.Split(string(text), "\n") {
		path := filepath.FromSlash(strings.TrimSpace(row))
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(list), path)
		}
		if !slices.Contains(readable, strings.ToLower(filepath.Ext(path))) {
			faults = append(faults, unreadableFault(list, i+1, path))
			continue
		}
		images = append(images, path)
	}
	return images, faults
}

func unreadableFault(file string, line int, image string) Fault {
	return Fault{File: file, Line: line, Problem: fmt.Sprintf("image format %q is not read", filepath.Ext(image)),
		Remedy: "convert the image to JPEG or PNG"}
}

// labelPath is where the labels of an image are: the last path component
// "images" replaced by "labels", and the ending by .txt.
func labelPath(image string) (string, error) {
	separator := string(filepath.Separator)
	components := strings.Split(filepath.Dir(image), separator)
	for i := len(components) - 1; i >= 0; i-- {
		if components[i] == "images" {
			components[i] = "labels"
			stem := strings.TrimSuffix(filepath.Base(image), filepath.Ext(image))
			return strings.Join(append(components, stem+".txt"), separator), nil
		}
	}
	return "", fmt.Errorf("no directory above the image is named images")
}
