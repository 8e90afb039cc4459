package data

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// openCOCO reads and checks a split of a COCO data set (data and evaluation
// specification, section 2.2).
func openCOCO(ctx context.Context, config *Config, split string, options Options) (*Dataset, error) {
	paths, ok := config.coco[split]
	if !ok {
		first := cocoCandidates(config.Root, split)[0]
		return nil, faultsOrNil([]Fault{{File: config.File, Problem: "no split " + split,
			Remedy: fmt.Sprintf("put images into %s and annotations into %s", first.images, first.annotations)}})
	}
	reader := newCOCOReader(config, paths, options)
	if err := reader.read(); err != nil {
		return nil, err
	}
	checks, err := checkAll(ctx, len(reader.order), func(i int) check { return reader.check(i, options.cache) })
	if err != nil {
		return nil, err
	}
	dataset, err := collect(config, split, checks, options.SkipFaulty)
	if err != nil {
		return nil, err
	}
	dataset.Categories, dataset.Crowds, dataset.Unusable = config.categories, reader.crowds, reader.unusable
	return dataset, nil
}

// cocoReader gathers the images and instances of one annotation file.
type cocoReader struct {
	paths  cocoSplit
	config *Config
	kind   cocoKind
	// evaluation keeps annotations as they are, see Options.Evaluation.
	evaluation bool

	images     map[int64]*cocoEntry
	order      []*cocoEntry // by ascending id, after read
	categories []cocoCategory
	labels     map[int64]int // dense class index by category id

	crowds, unusable int
	general          []located // faults of no image
}

// cocoEntry is one image with what was read of it so far.
type cocoEntry struct {
	record   cocoImage
	declared bool
	target   Target
	first    int64 // offset of the first annotation
	ringless bool  // an instance has no ring, so none of the image is kept
	faults   []located

	// annotated is kept instead of target for evaluation, offsets where each is.
	annotated []Annotated
	offsets   []located
}

// located is a fault with the offset in bytes of its entry.
type located struct {
	offset          int64
	problem, remedy string
}

func newCOCOReader(config *Config, paths cocoSplit, options Options) *cocoReader {
	kind := cocoKindOf(options.Format)
	reader := &cocoReader{paths: paths, config: config, kind: kind, evaluation: options.Evaluation && !kind.oriented,
		images: map[int64]*cocoEntry{}, labels: map[int64]int{}}
	for label, id := range config.categories {
		reader.labels[id] = label
	}
	return reader
}

// read streams the file. Its lists come in any order, and instances are put to
// images that may be declared later.
func (r *cocoReader) read() error {
	err := visitCOCO(r.paths.annotations, cocoVisitor{
		image: r.addImage, annotation: r.addAnnotation,
		category: func(c cocoCategory, _ int64) { r.categories = append(r.categories, c) },
	})
	if err != nil {
		return err
	}
	if err := r.checkCategories(); err != nil {
		return err
	}
	for id, entry := range r.images {
		if !entry.declared {
			r.general = append(r.general, entry.faults...)
			r.general = append(r.general, located{entry.first, fmt.Sprintf("annotations of image %d, which the list images has not", id),
				"add the image or remove its annotations"})
			continue
		}
		entry.checkOutlines()
		r.order = append(r.order, entry)
	}
	slices.SortFunc(r.order, func(a, b *cocoEntry) int { return cmp.Compare(a.record.ID, b.record.ID) })
	if len(r.order) == 0 {
		return faultsOrNil([]Fault{{File: r.paths.annotations, Problem: "no images", Remedy: "give a COCO annotation file with the list images"}})
	}
	r.locate()
	return nil
}

// checkCategories refuses a split whose category ids are not those of the others.
func (r *cocoReader) checkCategories() error {
	if err := sortCategories(r.paths.annotations, r.categories); err != nil {
		return err
	}
	var ids []int64
	for _, category := range r.categories {
		ids = append(ids, category.ID)
	}
	if !slices.Equal(ids, r.config.categories) {
		return faultsOrNil([]Fault{{File: r.paths.annotations, Problem: "the category ids differ from those of another split",
			Remedy: "declare the same categories in all splits"}})
	}
	return nil
}

// entry is what is known of an image id, declared already or not.
func (r *cocoReader) entry(id int64) *cocoEntry {
	entry, ok := r.images[id]
	if !ok {
		entry = &cocoEntry{}
		r.images[id] = entry
	}
	return entry
}

func (r *cocoReader) addImage(record cocoImage, offset int64) {
	entry := r.entry(record.ID)
	if entry.declared {
		r.general = append(r.general, located{offset, fmt.Sprintf("image id %d is declared twice", record.ID), "give every image an id of its own"})
		return
	}
	entry.record, entry.declared = record, true
	if record.FileName == "" || record.Width < 1 || record.Height < 1 {
		entry.faults = append(entry.faults, located{offset, fmt.Sprintf("image %d has no file_name, width or height", record.ID),
			"declare file_name and the size in pixels"})
	} else if problem := windowProblem(record); problem != "" {
		entry.faults = append(entry.faults, located{offset, fmt.Sprintf("image %d: %s", record.ID, problem), "cut the tiles again"})
	}
}

// windowProblem is what is wrong with where a tile says that it was cut.
func windowProblem(record cocoImage) string {
	if record.SourceImage == "" {
		return ""
	}
	w := record.Window
	if len(w) != 4 || min(w[0], w[1]) < 0 || w[2]-w[0] != record.Width || w[3]-w[1] != record.Height {
		return fmt.Sprintf("a window of %v for a tile of %dx%d", w, record.Width, record.Height)
	}
	return ""
}

// locate turns the faults' offsets into lines, once for the whole file.
func (r *cocoReader) locate() {
	slices.SortStableFunc(r.general, func(a, b located) int {
		if a.offset != b.offset {
			return int(a.offset - b.offset)
		}
		return strings.Compare(a.problem, b.problem)
	})
	var all []*located
	for i := range r.general {
		all = append(all, &r.general[i])
	}
	for _, entry := range r.order {
		for i := range entry.faults {
			all = append(all, &entry.faults[i])
		}
	}
	if len(all) == 0 {
		return
	}
	offsets := make([]int64, len(all))
	for i, fault := range all {
		offsets[i] = fault.offset
	}
	for i, line := range linesAt(r.paths.annotations, offsets) {
		all[i].offset = int64(line)
	}
}

func (r *cocoReader) faultsOf(list []located) []Fault {
	var faults []Fault
	for _, l := range list {
		faults = append(faults, Fault{File: r.paths.annotations, Line: int(l.offset), Problem: l.problem, Remedy: l.remedy})
	}
	return faults
}

// check finishes image i: it clamps what needs the image's size and looks at the
// file itself.
func (r *cocoReader) check(i int, cache *cache) check {
	entry := r.order[i]
	found := check{labelled: true, item: Item{
		Image: filepath.Join(r.paths.images, filepath.FromSlash(entry.record.FileName)), Label: r.paths.annotations,
		ID: entry.record.ID, SourceImage: entry.record.SourceImage, Window: entry.record.Window,
		Width: entry.record.Width, Height: entry.record.Height, Target: entry.target, Annotated: entry.annotated,
	}}
	if i == 0 {
		found.faults = r.faultsOf(r.general)
	}
	found.faults = append(found.faults, r.faultsOf(entry.faults)...)
	if len(found.faults) > 0 {
		return found
	}
	width, height, fault := imageSize(found.item.Image, cache)
	switch {
	case fault != nil:
		found.faults = append(found.faults, *fault)
		return found
	case width != entry.record.Width || height != entry.record.Height:
		found.faults = append(found.faults, Fault{File: found.item.Image,
			Problem: fmt.Sprintf("image is %dx%d and declared as %dx%d", width, height, entry.record.Width, entry.record.Height),
			Remedy:  "correct width and height in " + r.paths.annotations})
		return found
	}
	target := &found.item.Target
	if entry.ringless || !r.kind.rings {
		target.Polygons = nil
	}
	if !r.kind.oriented {
		for n, box := range target.Boxes {
			target.Boxes[n] = box.Clamp(float64(width), float64(height))
		}
	}
	if !slices.Contains(target.Difficult, true) {
		target.Difficult = nil
	}
	return found
}
