package verify

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/golden"
	"github.com/reprise-ml/reprise/internal/inspect"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Request is a reference to verify against.
type Request struct {
	File      string // reference values: a case or a trajectory
	Precision device.Precision
	Capture   bool // trajectories: record and replay all stages
}

// Result is what a verification found.
type Result struct {
	File      string           `json:"file"`
	Kind      string           `json:"kind"` // case or trajectory
	Task      string           `json:"task"`
	Precision device.Precision `json:"precision"`
	Worst     []Worst          `json:"worst"`
	Replayed  int              `json:"replayed"`          // steps in which every stage was replayed
	Failure   string           `json:"failure,omitempty"` // the first deviation beyond its tolerance
}

// Worst is the worst deviation of a kind. JSON has no infinity, so a
// difference that no tolerance covers is the largest number there.
type Worst struct {
	golden.Deviation
	Relative float64 `json:"Relative"`
}

// Run verifies a device against a reference file.
func Run(dev device.Device, r Request) (*Result, error) {
	switch r.Precision {
	case device.FP32:
		return runAs[float32](dev, r)
	case device.Float64:
		return runAs[float64](dev, r)
	}
	return nil, fmt.Errorf("precision is %q; use float64 or float32", r.Precision)
}

func runAs[T device.Float](dev device.Device, r Request) (*Result, error) {
	trajectory, err := isTrajectory(r.File)
	if err != nil {
		return nil, err
	}
	result := &Result{File: r.File, Kind: "case", Precision: r.Precision}
	var comparison *golden.Comparison
	if trajectory {
		result.Kind = "trajectory"
		comparison, err = runTrajectory[T](dev, r, result)
	} else {
		comparison, err = runCase[T](dev, r, result)
	}
	if err != nil {
		return nil, err
	}
	for _, d := range comparison.Worst() {
		result.Worst = append(result.Worst, Worst{d, math.Min(d.Relative, math.MaxFloat64)})
	}
	if err := comparison.Err(); err != nil {
		result.Failure = err.Error()
	}
	return result, nil
}

// isTrajectory tells the two kinds of file apart by their keys.
func isTrajectory(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	if _, err := decoder.Token(); err != nil {
		return false, fmt.Errorf("%s: not a reference file: %w", path, err)
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return false, fmt.Errorf("%s: not a reference file: %w", path, err)
		}
		switch key {
		case "outputs":
			return false, nil
		case "steps", "sampled":
			return true, nil
		}
		var skipped json.RawMessage
		if err := decoder.Decode(&skipped); err != nil {
			return false, fmt.Errorf("%s: not a reference file: %w", path, err)
		}
	}
	return false, fmt.Errorf("%s: neither a reference case nor a training trajectory", path)
}

func runCase[T device.Float](dev device.Device, r Request, result *Result) (*golden.Comparison, error) {
	c, err := golden.ReadCase(r.File)
	if err != nil {
		return nil, err
	}
	result.Task = c.Network.Task
	definitions, err := definitionsOf(c.Network.Task, c.Network.Scale, c.Network.Classes, 0, stage.Differentiable())
	if err != nil {
		return nil, err
	}
	return Case[T](dev, c, definitions)
}

func runTrajectory[T device.Float](dev device.Device, r Request, result *Result) (*golden.Comparison, error) {
	t, err := golden.ReadTrajectory(r.File)
	if err != nil {
		return nil, err
	}
	s := t.Setting
	result.Task = s.Task
	definitions, err := definitionsOf(s.Task, s.Scale, s.Classes, s.Keypoints)
	if err != nil {
		return nil, err
	}
	plans, err := plansOf(definitions)
	if err != nil {
		return nil, err
	}
	settings, err := config.Defaults(s.Task)
	if err != nil {
		return nil, err
	}
	settings.Model.Scale, settings.Model.Classes, settings.Model.Keypoints = s.Scale, s.Classes, s.Keypoints
	task, err := catalog.Task[T](settings, plans)
	if err != nil {
		return nil, err
	}
	var capture []trainer.CaptureOption
	if r.Capture {
		capture = append(capture, trainer.CaptureFull, trainer.CaptureOptimizer)
	}
	training, err := Trajectory(dev, t, task, capture...)
	if err != nil {
		return nil, err
	}
	result.Replayed = math.MaxInt
	for _, s := range training.Report.Stages {
		result.Replayed = min(result.Replayed, s.Replayed)
	}
	return training.Comparison, nil
}

// definitionsOf gives the stages of a task's network. keypoints 0 are those of
// the published model, which single passes have.
func definitionsOf(task, scale string, classes, keypoints int, options ...stage.InputOption) ([]*stage.Definition, error) {
	network, err := inspect.FindNetwork(task)
	if err != nil {
		return nil, err
	}
	found, err := inspect.FindScale(scale)
	if err != nil {
		return nil, err
	}
	if keypoints == 0 {
		keypoints = network.Keypoints
	}
	return network.Define(inspect.Model{Scale: found, Classes: classes, Keypoints: keypoints}, options...), nil
}

// WriteText prints a result for people.
func (r *Result) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s of task %s in %s, %d steps replayed\n", r.File, r.Kind, r.Task, r.Precision, r.Replayed)
	for _, d := range r.Worst {
		fmt.Fprintf(w, "  worst %s\n", d.Deviation)
	}
	if r.Failure == "" {
		_, err := fmt.Fprintln(w, "within tolerance")
		return err
	}
	_, err := fmt.Fprintln(w, "FAILED:", r.Failure)
	return err
}
