package validate

import (
	"fmt"
	"image"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/eval/decode"
	"github.com/reprise-ml/reprise/internal/eval/precision"
	"github.com/reprise-ml/reprise/internal/eval/tiles"
)

// wholeImages puts tiles back together and judges the images that they were cut
// from, without a cap on detections (YOLO26 specification, data and evaluation
// section 9.4).
type wholeImages struct {
	judges  [2]*judge // by decode path
	sources map[string]*source
	images  int // judged
	objects int
	// leftOut are the images whose tiles make no grid, and why.
	leftOut []string
}

// source is an image that was cut into tiles.
type source struct {
	windows map[int]int // by item of the data set
	merges  [2]*tiles.Merge
}

// newWholeImages groups the tiles of a data set by their images; it is nil when
// there are none.
func newWholeImages(dataset *data.Dataset) (*wholeImages, error) {
	cuts := map[string][]int{}
	var order []string
	for i, item := range dataset.Items {
		if item.SourceImage == "" {
			continue
		}
		if cuts[item.SourceImage] == nil {
			order = append(order, item.SourceImage)
		}
		cuts[item.SourceImage] = append(cuts[item.SourceImage], i)
	}
	if len(order) == 0 {
		return nil, nil
	}
	w := &wholeImages{sources: map[string]*source{}}
	for path := range w.judges {
		var err error
		if w.judges[path], err = newOrientedJudge(len(dataset.Names), precision.Unlimited); err != nil {
			return nil, err
		}
	}
	for _, name := range order {
		made := &source{windows: map[int]int{}}
		var windows []image.Rectangle
		for window, i := range cuts[name] {
			cut := dataset.Items[i].Window
			windows = append(windows, image.Rect(cut[0], cut[1], cut[2], cut[3]))
			made.windows[i] = window
		}
		layout, err := tiles.NewLayout(windows)
		if err != nil {
			w.leftOut = append(w.leftOut, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		for path := range made.merges {
			made.merges[path] = tiles.NewMerge(layout)
		}
		w.sources[name] = made
	}
	return w, nil
}

// add takes the detections and objects of item i of the data set in pixels of
// the tile. An image is judged with its last tile, and then released.
func (w *wholeImages) add(path, i int, item data.Item, rows []decode.Rotated, objects []precision.RotatedObject) error {
	if w == nil || w.sources[item.SourceImage] == nil {
		return nil
	}
	merge := w.sources[item.SourceImage].merges[path]
	if err := merge.Add(w.sources[item.SourceImage].windows[i], rows, objects); err != nil {
		return err
	}
	rows, objects, complete := merge.Image()
	if !complete {
		return nil
	}
	if path == len(w.judges)-1 {
		w.images++
		w.objects += len(objects)
		delete(w.sources, item.SourceImage)
	}
	return w.judges[path].addRotated(rows, objects)
}

// report is what is told of whole images; it is nil when there are none.
func (w *wholeImages) report(names []string) (*Whole, error) {
	if w == nil {
		return nil, nil
	}
	whole := &Whole{Images: w.images, Instances: w.objects, LeftOut: w.leftOut}
	for path, name := range pathNames {
		found, err := pathOf(name, w.judges[path], names)
		if err != nil {
			return nil, err
		}
		found.title += ", whole images"
		whole.Paths = append(whole.Paths, found)
	}
	return whole, nil
}
