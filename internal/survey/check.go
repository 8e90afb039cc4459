package survey

import (
	"context"
	"errors"
	"math"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/geometry"
)

// Report is what a check found.
type Report struct {
	// File is the data.yaml file or the root, Task what the labels were read for.
	File string `json:"file"`
	Task string `json:"task"`
	// Suggested tells that the task was judged by the labels.
	Suggested bool    `json:"suggested"`
	Splits    []Split `json:"splits"`
	// Faults counts those of all splits.
	Faults int `json:"faults"`
}

// Split is what a check found in one split.
type Split struct {
	Name        string `json:"name"`
	Images      int    `json:"images"` // without faults
	Instances   int    `json:"instances"`
	Backgrounds int    `json:"backgrounds"`
	Duplicates  int    `json:"duplicates"`
	Difficult   int    `json:"difficult"`
	Crowds      int    `json:"crowds"`
	Unusable    int    `json:"unusable"`
	// Classes counts the instances of every class.
	Classes []Count `json:"classes"`
	// Sizes counts instances by the square root of their area in pixels.
	Sizes  []Count      `json:"sizes"`
	Faults []data.Fault `json:"faults"`
}

// Count is one bar of a histogram.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// sizeBounds are the upper bounds of the bars of box sizes in pixels; 32 and 96
// are the borders of small, medium and large in COCO.
var sizeBounds = []struct {
	below float64
	name  string
}{{8, "below 8"}, {16, "8 to 16"}, {32, "16 to 32"}, {64, "32 to 64"}, {96, "64 to 96"}, {192, "96 to 192"}, {384, "192 to 384"}, {math.Inf(1), "384 and more"}}

// Check reads every split of a data set and collects all faults. An empty task is
// suggested by the labels. The error is of what cannot be looked at, not of faults.
func Check(ctx context.Context, path, task string) (*Report, error) {
	config, task, suggested, err := describe(path, task)
	if err != nil {
		return nil, err
	}
	format, err := config.Rows(task)
	if err != nil {
		return nil, err
	}
	report := &Report{File: config.File, Task: task, Suggested: suggested, Splits: []Split{}}
	for _, name := range []string{"train", "val", "test"} {
		if !config.Has(name) {
			continue
		}
		split, err := checkSplit(ctx, config, name, format)
		if err != nil {
			return nil, err
		}
		report.Splits = append(report.Splits, split)
		report.Faults += len(split.Faults)
	}
	if len(report.Splits) == 0 {
		return nil, &data.FaultsError{Faults: []data.Fault{{File: config.File, Problem: "no split", Remedy: "add train and val with directories of images"}}}
	}
	return report, nil
}

// describe reads the description of a data set and settles the task.
func describe(path, task string) (config *data.Config, settled string, suggested bool, err error) {
	config, err = data.ReadConfig(path)
	if err != nil {
		return nil, "", false, err
	}
	if task == "" {
		return config, config.SuggestTask(), true, nil
	}
	return config, task, false, nil
}

func checkSplit(ctx context.Context, config *data.Config, name string, format data.RowFormat) (Split, error) {
	split := Split{Name: name, Faults: []data.Fault{}}
	dataset, err := data.Open(ctx, config, name, data.Options{Format: format, SkipFaulty: true})
	if faults := (*data.FaultsError)(nil); errors.As(err, &faults) {
		// Not one image is good.
		dataset = &data.Dataset{Names: config.Names, Skipped: faults.Faults}
	} else if err != nil {
		return split, err
	}
	split.Images, split.Instances, split.Backgrounds = len(dataset.Items), dataset.Instances(), dataset.Backgrounds
	split.Duplicates, split.Crowds, split.Unusable = dataset.Duplicates, dataset.Crowds, dataset.Unusable
	split.Faults = append(split.Faults, dataset.Skipped...)
	for _, class := range dataset.Names {
		split.Classes = append(split.Classes, Count{Name: class})
	}
	for _, bound := range sizeBounds {
		split.Sizes = append(split.Sizes, Count{Name: bound.name})
	}
	for _, item := range dataset.Items {
		split.count(item.Target)
	}
	return split, nil
}

func (s *Split) count(target data.Target) {
	for i, label := range target.Labels {
		s.Classes[label].Count++
		size := math.Sqrt(target.Boxes[i].Area())
		if len(target.Rotated) > 0 {
			size = rotatedSize(target.Rotated[i])
		}
		for n, bound := range sizeBounds {
			if size < bound.below {
				s.Sizes[n].Count++
				break
			}
		}
	}
	for _, difficult := range target.Difficult {
		if difficult {
			s.Difficult++
		}
	}
}

func rotatedSize(r geometry.RotatedBox) float64 { return math.Sqrt(r.Width * r.Height) }
