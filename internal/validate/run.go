package validate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/predict"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Request says what to judge.
type Request struct {
	Weights string // checkpoint
	Path    string // data.yaml or a root
	Split   string
	Dir     string // receives report and plots; empty writes none
	Raw     bool   // weights as trained instead of their average
}

// Report is the result of a validation.
type Report struct {
	Task      string `json:"task"`
	Split     string `json:"split"`
	Images    int    `json:"images"`
	Instances int    `json:"instances"`
	// Crowds are regions that are no instances but excuse detections.
	Crowds int `json:"crowds,omitempty"`
	// Notes say what keeps the figures from being those of a published protocol.
	Notes []string `json:"notes,omitempty"`
	// Paths are end to end and with suppression.
	Paths []Path `json:"paths"`
	// Whole is set when the images are tiles: the figures of what they were cut
	// from.
	Whole *Whole `json:"whole_images,omitempty"`
}

// Whole is the result over images put together from tiles.
type Whole struct {
	Images    int `json:"images"`
	Instances int `json:"instances"`
	// LeftOut are the images whose tiles make no grid, and why.
	LeftOut []string `json:"left_out,omitempty"`
	Paths   []Path   `json:"paths"`
}

// pathNames are the decode paths.
var pathNames = [2]string{"e2e", "nms"}

// Path is the result of one decode path.
type Path struct {
	Name    string   `json:"name"` // e2e or nms
	Figures []Figure `json:"figures"`
	Classes []Class  `json:"classes"`
	// Confusion counts detected class (row) by annotated class (column); the
	// last of both is the background.
	Confusion [][]int `json:"confusion"`

	title  string // of plots
	curves []curve
}

// Figure is one named statistic, in [0,1], or -1 without labelled instances.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Class is the average precision of one class: of its boxes, and with the tasks
// segment and pose of its masks (segm_ap, segm_ap50) or keypoints (oks_ap,
// oks_ap50).
type Class struct {
	Name      string   `json:"name"`
	Instances int      `json:"instances"`
	AP        float64  `json:"ap"`
	AP50      float64  `json:"ap50"`
	Shapes    []Figure `json:"shapes,omitempty"`
}

// Run judges a checkpoint on a split. Every image goes through the network once
// and is decoded both ways.
func Run(ctx context.Context, dev device.Device, r Request) (report *Report, err error) {
	config, err := data.ReadConfig(r.Path)
	if err != nil {
		return nil, err
	}
	model, err := predict.Open(dev, r.Weights, r.Raw)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := model.Close(); err == nil {
			err = closed
		}
	}()
	dataset, err := open(ctx, config, model, r)
	if err != nil {
		return nil, err
	}
	v, err := newValidation(model, dataset)
	if err != nil {
		return nil, err
	}
	if err := v.images(ctx); err != nil {
		return nil, err
	}
	report, err = v.report(r.Split)
	if err != nil {
		return nil, err
	}
	if r.Dir == "" {
		return report, nil
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w; give a directory that can be written", err)
	}
	return report, report.save(r.Dir)
}

// open reads the split in the format of the model's task, and checks that both
// have the same classes and keypoints.
func open(ctx context.Context, config *data.Config, model *predict.Model, r Request) (*data.Dataset, error) {
	settings := model.Settings
	named := checkpoint.Labels{Classes: model.Labels.Classes}
	if different := named.Differs(checkpoint.Labels{Classes: config.Names}); different != "" {
		return nil, fmt.Errorf("%s names other classes than %s: %s; give the data set that the weights were trained for",
			config.File, filepath.Base(r.Weights), different)
	}
	format, err := config.Rows(settings.Task)
	if err != nil {
		return nil, err
	}
	if settings.Task == "pose" && config.Keypoints.Count != settings.Model.Keypoints {
		return nil, fmt.Errorf("%s declares %d keypoints and %s has %d; give the data set that the weights were trained for",
			config.File, config.Keypoints.Count, filepath.Base(r.Weights), settings.Model.Keypoints)
	}
	return data.Open(ctx, config, r.Split, data.Options{Format: format, Evaluation: true})
}
