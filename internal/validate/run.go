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
	// Notes say what keeps the figures from being those of a published protocol.
	Notes []string `json:"notes,omitempty"`
	// Paths are end to end and with suppression.
	Paths []Path `json:"paths"`
}

// Path is the result of one decode path.
type Path struct {
	Name    string   `json:"name"` // e2e or nms
	Figures []Figure `json:"figures"`
	Classes []Class  `json:"classes"`
	// Confusion counts detected class (row) by annotated class (column); the
	// last of both is the background.
	Confusion [][]int `json:"confusion"`

	curves []curve
}

// Figure is one named statistic, in [0,1], or -1 without labelled instances.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Class is the average precision of the boxes of one class.
type Class struct {
	Name      string  `json:"name"`
	Instances int     `json:"instances"`
	AP        float64 `json:"ap"`
	AP50      float64 `json:"ap50"`
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
	judges, err := judgeAll(ctx, model, dataset)
	if err != nil {
		return nil, err
	}
	report = &Report{Task: model.Settings.Task, Split: r.Split, Images: dataset.Len(), Instances: dataset.Instances()}
	if dataset.Categories != nil && report.Task != "obb" {
		report.Notes = append(report.Notes, "crowd regions, annotated areas and rings after the first are not read: these are not the published COCO figures")
	}
	for i, name := range []string{"e2e", "nms"} {
		path, err := pathOf(name, judges[i], dataset.Names)
		if err != nil {
			return nil, err
		}
		report.Paths = append(report.Paths, path)
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
	return data.Open(ctx, config, r.Split, data.Options{Format: format})
}

// judgeAll judges end to end and with suppression.
func judgeAll(ctx context.Context, model *predict.Model, dataset *data.Dataset) ([2]*judge, error) {
	var judges [2]*judge
	for i := range judges {
		var err error
		if judges[i], err = newJudge(model.Settings.Task, model.Settings.Model.Classes, model.Settings.Model.Keypoints); err != nil {
			return judges, err
		}
	}
	for i, item := range dataset.Items {
		if ctx.Err() != nil {
			return judges, ctx.Err()
		}
		native, err := dataset.Native(i)
		if err != nil {
			return judges, err
		}
		pass, err := model.Forward(native.Raster)
		if err != nil {
			return judges, fmt.Errorf("%s: %w", item.Image, err)
		}
		for n, decode := range []func(float64) ([]predict.Instance, error){pass.EndToEnd, pass.Suppressed} {
			found, err := decode(0)
			if err == nil {
				err = judges[n].add(found, native.Target, item.Width, item.Height)
			}
			if err != nil {
				return judges, fmt.Errorf("%s: %w", item.Image, err)
			}
		}
	}
	return judges, nil
}

func pathOf(name string, j *judge, names []string) (Path, error) {
	path := Path{Name: name, Confusion: j.confusion.Counts()}
	for _, figure := range j.figures() {
		path.Figures = append(path.Figures, Figure(figure))
	}
	for class, className := range names {
		average, at50, objects, err := j.classed().ClassPrecision(class)
		if err != nil {
			return Path{}, err
		}
		path.Classes = append(path.Classes, Class{Name: className, Instances: objects, AP: average, AP50: at50})
		points, err := j.classed().Curve(class, 0)
		if err != nil {
			return Path{}, err
		}
		if objects > 0 {
			path.curves = append(path.curves, curve{name: className, points: points})
		}
	}
	return path, nil
}
