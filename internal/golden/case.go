package golden

import (
	"fmt"
	"maps"
	"slices"
)

// Case is one training-mode forward and backward pass of a network and one
// evaluation-mode forward pass with the statistics after it.
type Case struct {
	Network       Network            `json:"case"`
	Parameters    int                `json:"parameters"` // elements of all parameters
	Outputs       map[string]*Sample `json:"outputs"`
	ImageGradient *Sample            `json:"image_gradient"`
	Gradients     map[string]*Sample `json:"gradients"`  // by parameter entry
	Statistics    map[string]*Sample `json:"statistics"` // running means and variances after the pass
	EvalOutputs   map[string]*Sample `json:"eval_outputs"`
}

// Network says what a case was made with.
type Network struct {
	Task    string `json:"task"`
	Scale   string `json:"scale"`
	Classes int    `json:"classes"`
	Batch   int    `json:"batch"`
	Height  int    `json:"height"`
	Width   int    `json:"width"`
	Seed    uint64 `json:"seed"`
}

// ReadCase reads a case. Anything else is an error that names the file.
func ReadCase(path string) (*Case, error) {
	c := new(Case)
	if err := readJSON(path, c); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: not a reference case: %w", path, err)
	}
	return c, nil
}

func (c *Case) check() error {
	n := c.Network
	if err := checkTask(n.Task); err != nil {
		return err
	}
	if n.Scale == "" || n.Classes < 1 || n.Batch < 1 || n.Height < 1 || n.Width < 1 || c.Parameters < 1 {
		return fmt.Errorf("scale %q, %d classes, batch %d, %d x %d px and %d parameters do not describe a network", n.Scale, n.Classes, n.Batch, n.Height, n.Width, c.Parameters)
	}
	if err := c.ImageGradient.check(); err != nil {
		return fmt.Errorf("image_gradient: %w", err)
	}
	for _, group := range []struct {
		name    string
		samples map[string]*Sample
	}{{"outputs", c.Outputs}, {"gradients", c.Gradients}, {"statistics", c.Statistics}, {"eval_outputs", c.EvalOutputs}} {
		if len(group.samples) == 0 {
			return fmt.Errorf("%s is empty", group.name)
		}
		for _, name := range slices.Sorted(maps.Keys(group.samples)) {
			if err := group.samples[name].check(); err != nil {
				return fmt.Errorf("%s: %q %w", group.name, name, err)
			}
		}
	}
	return nil
}

// checkTask reports a task that no network has.
func checkTask(task string) error {
	tasks := []string{"detect", "obb", "pose", "segment"}
	if !slices.Contains(tasks, task) {
		return fmt.Errorf("task is %q; it must be one of %v", task, tasks)
	}
	return nil
}
