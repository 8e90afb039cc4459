// Package demo shows on one page what the project is for: the same fit twice
// on synthetic scenes, native and replayed, with equal bytes, and a picture of
// what the network learned.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/checkpoint"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/networks"
	"github.com/reprise-ml/reprise/internal/scenes"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// Options say what the demo does.
type Options struct {
	Dir   string // receives the scenes and the picture; must not exist, or be a demo's
	Steps int    // of each fit
}

// The fits of the demo: test scale, batches of 4 scenes.
const (
	imageSize = 160
	batchSize = 4
	images    = 16
)

// Arm is one of the two fits.
type Arm struct {
	Name           string            `json:"name"`
	Seconds        float64           `json:"seconds"`
	Steps          int               `json:"steps"`
	FirstLoss      float64           `json:"firstLoss"`
	LastLoss       float64           `json:"lastLoss"`
	Replayed       int               `json:"replayed"`
	KernelLaunches int64             `json:"kernelLaunches"`
	GraphLaunches  int64             `json:"graphLaunches"`
	Hashes         checkpoint.Hashes `json:"hashes"`
}

// Result is what the demo found.
type Result struct {
	Arms      []Arm  `json:"arms"`
	Identical bool   `json:"identical"`
	Picture   string `json:"picture"`
}

// Run draws scenes, trains twice and draws the picture. Progress goes to log.
func Run(ctx context.Context, o Options, log io.Writer) (*Result, error) {
	if o.Steps < 1 {
		return nil, fmt.Errorf("-steps is %d; use 1 or more", o.Steps)
	}
	folder := filepath.Join(o.Dir, "scenes")
	if err := removeScenes(folder); err != nil {
		return nil, err
	}
	err := scenes.WriteOriented(folder, scenes.Folder{Train: images, Val: batchSize}, scenes.Options{Size: imageSize, Objects: 6, Seed: 7})
	if err != nil {
		return nil, err
	}
	result := &Result{Picture: filepath.Join(o.Dir, "predictions.png")}
	for _, name := range []string{"native", "replayed"} {
		arm, err := runArm(ctx, name, o, filepath.Join(folder, "data.yaml"), log, result.Picture)
		if err != nil {
			return nil, err
		}
		result.Arms = append(result.Arms, *arm)
	}
	result.Identical = result.Arms[0].Hashes == result.Arms[1].Hashes
	if !result.Identical {
		return result, errors.New("the native and the replayed fit differ; this is a defect of the project")
	}
	return result, nil
}

// runArm is one fit, from opening the device to closing it; the replayed one
// also draws the picture.
func runArm(ctx context.Context, name string, o Options, dataFile string, log io.Writer, picture string) (arm *Arm, err error) {
	dev := host.Open(host.Options{})
	defer func() { err = errors.Join(err, dev.Close()) }()
	settings, err := settingsOf(o.Steps, name == "replayed")
	if err != nil {
		return nil, err
	}
	plans, err := networks.Find(networks.Want{Task: "obb", Scale: settings.Model.Scale, Classes: settings.Model.Classes})
	if err != nil {
		return nil, err
	}
	plan, err := plans[0]()
	if err != nil {
		return nil, err
	}
	task, err := catalog.Task[float32](settings, []*ir.Stage{plan})
	if err != nil {
		return nil, err
	}
	loaders, err := open(ctx, dataFile)
	if err != nil {
		return nil, err
	}
	options := trainer.OptionsOf(settings)
	options.StopAfter, options.Progress = o.Steps, newSteps(log, name, o.Steps)
	start := time.Now()
	f, err := trainer.New(dev, task, loaders, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Run(ctx); err != nil {
		return nil, err
	}
	arm, err = report(name, f, time.Since(start))
	if err == nil && name == "replayed" {
		err = draw(ctx, f, loaders.Validation, picture)
	}
	return arm, err
}

func settingsOf(steps int, capture bool) (*config.Settings, error) {
	s, err := config.Defaults("obb")
	if err != nil {
		return nil, err
	}
	s.Model.Scale, s.Model.Classes = "t", len(scenes.Classes)
	s.Model.CaptureNetwork, s.Model.CaptureOptimizer = capture, capture
	s.Data.ImgSize, s.Data.BatchSize = imageSize, batchSize
	s.Trainer.MaxEpochs = (steps*batchSize + images - 1) / images
	s.Trainer.GradientClip = 10
	s.Run.Dir = "" // the fits are compared in memory
	s.Optim.WarmupEpochs = 1
	return s, nil
}

func open(ctx context.Context, dataFile string) (trainer.Data, error) {
	var out trainer.Data
	described, err := data.ReadConfig(dataFile)
	if err != nil {
		return out, err
	}
	format, err := described.Rows("obb")
	if err != nil {
		return out, err
	}
	options := data.LoaderOptions{BatchSize: batchSize, Width: imageSize, Height: imageSize, Workers: 1}
	for _, split := range []string{"train", "val"} {
		set, err := data.Open(ctx, described, split, data.Options{Format: format})
		if err != nil {
			return out, err
		}
		options.Shuffle = split == "train"
		loader, err := data.NewLoader(set, data.ValidationPipeline(imageSize), options)
		if err != nil {
			return out, err
		}
		if split == "train" {
			out.Train = loader
		} else {
			out.Validation = loader
		}
	}
	return out, nil
}

func report(name string, f *trainer.Fit[float32], took time.Duration) (*Arm, error) {
	hashes, err := f.Hashes()
	if err != nil {
		return nil, err
	}
	losses := f.Losses()
	arm := &Arm{Name: name, Seconds: took.Seconds(), Steps: f.Steps(), FirstLoss: losses[0], LastLoss: losses[len(losses)-1], Hashes: hashes}
	count(arm, f.Report())
	return arm, nil
}

// count adds up launches; a step counts as replayed when every stage was.
func count(arm *Arm, r replay.Report) {
	for i, s := range r.Stages {
		if i == 0 || s.Replayed < arm.Replayed {
			arm.Replayed = s.Replayed
		}
		arm.KernelLaunches += s.KernelLaunches
		arm.GraphLaunches += s.GraphLaunches
	}
}
