package golden

import (
	"fmt"
	"maps"
	"slices"
)

// trajectoryFile is a trajectory as it is stored: the shape and indices of a
// sampled tensor stand once.
type trajectoryFile struct {
	Case    Setting               `json:"case"`
	Sampled map[string]*placement `json:"sampled"`
	Targets [][]Target            `json:"targets"`
	Steps   []stepFile            `json:"steps"`
}

type placement struct {
	Shape []int `json:"shape"`
	Index []int `json:"index"`
}

// values is a Sample without its placement; nil where a tensor is absent.
type values struct {
	L2    float64   `json:"l2"`
	Sum   float64   `json:"sum"`
	Value []float64 `json:"value"`
}

type stepFile struct {
	Step        int                  `json:"step"`
	Epoch       int                  `json:"epoch"`
	Batch       int                  `json:"batch"`
	Objects     []int                `json:"objects"`
	LR          float64              `json:"lr"`
	Alpha       float64              `json:"alpha"`
	Terms       Terms                `json:"terms"`
	Total       float64              `json:"total"`
	Assigned    Branches[[][][2]int] `json:"assigned"`
	Positives   Branches[int]        `json:"positives"`
	Quality     Branches[float64]    `json:"quality"`
	Margin      Branches[float64]    `json:"margin"`
	MaskCells   *int                 `json:"mask_cells,omitempty"`
	Absent      Tensors              `json:"absent"`
	Zero        Tensors              `json:"zero"`
	Gradient    map[string]*values   `json:"gradient"`
	GradientAll Family               `json:"gradient_all"`
	Norm        float64              `json:"norm"`
	After       stateFile            `json:"after"`
}

type stateFile struct {
	All        AllFamilies        `json:"all"`
	Parameter  map[string]*values `json:"parameter"`
	Momentum   map[string]*values `json:"momentum"`
	EMA        map[string]*values `json:"ema"`
	Statistics map[string]*values `json:"statistics"`
}

// Limits of a setting, so that what is built from it stays small.
const (
	smallestImage  = 48 // px, the largest drawn object
	largestImage   = 1 << 13
	largestBatch   = 1 << 10
	largestEpoch   = 1 << 10 // steps
	largestEpochs  = 1 << 10
	largestClasses = 1 << 16
	mostKeypoints  = 37 // more would share draws with the next object
)

// ReadTrajectory reads a trajectory. Anything else is an error that names the
// file.
func ReadTrajectory(path string) (*Trajectory, error) {
	var file trajectoryFile
	if err := readJSON(path, &file); err != nil {
		return nil, err
	}
	trajectory, err := file.trajectory()
	if err != nil {
		return nil, fmt.Errorf("%s: not a reference trajectory: %w", path, err)
	}
	return trajectory, nil
}

func (f *trajectoryFile) trajectory() (*Trajectory, error) {
	t := &Trajectory{Setting: f.Case, Targets: f.Targets}
	if err := t.Setting.check(); err != nil {
		return nil, err
	}
	total := t.Setting.Epochs * len(t.Setting.Batches)
	if len(f.Steps) != total || len(f.Targets) != total || t.Setting.OptimizerSteps != total {
		return nil, fmt.Errorf("%d steps, %d targets and %d optimizer steps in %d epochs of %d; they must agree",
			len(f.Steps), len(f.Targets), t.Setting.OptimizerSteps, t.Setting.Epochs, len(t.Setting.Batches))
	}
	for i := range f.Steps {
		batch := t.Setting.Batches[i%len(t.Setting.Batches)]
		if s := &f.Steps[i]; s.Step != i || s.Epoch != i/len(t.Setting.Batches) || s.Batch != batch ||
			len(s.Objects) != batch || len(f.Targets[i]) != batch || len(s.Assigned.O2M) != batch || len(s.Assigned.O2O) != batch {
			return nil, fmt.Errorf("steps[%d]: number, epoch or number of images contradict the setting", i)
		}
		step, err := f.step(&f.Steps[i])
		if err != nil {
			return nil, fmt.Errorf("steps[%d]: %w", i, err)
		}
		t.Steps = append(t.Steps, step)
	}
	return t, nil
}

func (s *Setting) check() error {
	if err := checkTask(s.Task); err != nil {
		return err
	}
	for _, number := range []struct {
		name             string
		value, low, high int
	}{
		{"height", s.Height, smallestImage, largestImage}, {"width", s.Width, smallestImage, largestImage},
		{"classes", s.Classes, 1, largestClasses}, {"keypoints", s.Keypoints, 0, mostKeypoints},
		{"epochs", s.Epochs, 1, largestEpochs}, {"batches per epoch", len(s.Batches), 1, largestEpoch},
	} {
		if number.value < number.low || number.value > number.high {
			return fmt.Errorf("%s is %d; it must be from %d to %d", number.name, number.value, number.low, number.high)
		}
	}
	for _, batch := range s.Batches {
		if batch < 1 || batch > largestBatch {
			return fmt.Errorf("a batch has %d images; it must have from 1 to %d", batch, largestBatch)
		}
	}
	return nil
}

// step joins the values of a step with their placements.
func (f *trajectoryFile) step(s *stepFile) (Step, error) {
	step := Step{
		Step: s.Step, Epoch: s.Epoch, Batch: s.Batch, Objects: s.Objects, LR: s.LR, Alpha: s.Alpha,
		Terms: s.Terms, Total: s.Total, Assigned: s.Assigned, Positives: s.Positives, Quality: s.Quality,
		Margin: s.Margin, MaskCells: s.MaskCells, Absent: s.Absent, Zero: s.Zero,
		GradientAll: s.GradientAll, Norm: s.Norm, All: s.After.All,
	}
	for _, group := range []struct {
		name     string
		from     map[string]*values
		to       *map[string]*Sample
		nullable bool
	}{
		{"gradient", s.Gradient, &step.Gradient, true},
		{"parameter", s.After.Parameter, &step.Parameter, false},
		{"momentum", s.After.Momentum, &step.Momentum, true},
		{"ema", s.After.EMA, &step.EMA, false},
		{"statistics", s.After.Statistics, &step.Statistics, false},
	} {
		samples := make(map[string]*Sample, len(group.from))
		for _, name := range slices.Sorted(maps.Keys(group.from)) {
			sample, err := f.sample(name, group.from[name])
			if err == nil && (sample != nil || !group.nullable) {
				err = sample.check()
			}
			if err != nil {
				return Step{}, fmt.Errorf("%s: %q %w", group.name, name, err)
			}
			samples[name] = sample
		}
		*group.to = samples
	}
	return step, nil
}

func (f *trajectoryFile) sample(name string, v *values) (*Sample, error) {
	if v == nil {
		return nil, nil
	}
	place := f.Sampled[name]
	if place == nil {
		return nil, fmt.Errorf("is not listed under sampled")
	}
	return &Sample{Shape: place.Shape, Index: place.Index, L2: v.L2, Sum: v.Sum, Value: v.Value}, nil
}
