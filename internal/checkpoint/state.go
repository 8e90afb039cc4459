package checkpoint

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reprise-ml/reprise/internal/optim"
)

// Version is the format version that this package writes and reads.
const Version = 2

// State is a complete fit between two steps.
type State struct {
	Meta     Meta
	Model    []Tensor // raw parameters and buffers, counters included
	EMA      []Tensor // shadow of every floating-point model tensor
	Momentum []Tensor // of every parameter that ever had a gradient
	Gradient []Tensor // present gradients of an open accumulation window
}

// Meta is the part of a fit that is no tensor.
type Meta struct {
	Version   int    `json:"version"`
	Task      string `json:"task"`
	Scale     string `json:"scale"`
	Classes   int    `json:"classes"`
	Keypoints int    `json:"keypoints,omitempty"`
	Labels    Labels `json:"labels"`

	Epoch   int `json:"epoch"`             // zero-based epoch of the next batch
	Batch   int `json:"batch"`             // batches of that epoch already done
	Step    int `json:"step"`              // completed optimizer steps
	Pending int `json:"pending,omitempty"` // micro-batches in an open accumulation window

	Schedule Schedule               `json:"schedule"`
	Scaler   *optim.LossScalerState `json:"scaler,omitempty"` // FP16 only
	EMA      *optim.EMACounters     `json:"ema,omitempty"`
	Seeds    Seeds                  `json:"seeds"`

	// Configuration holds the resolved settings that determine the fit, as
	// text by dotted key. Settings that only choose how it is executed, such as
	// the recording options, must not be in it.
	Configuration map[string]string `json:"configuration"`
}

// Labels name what a network detects, so that predictions and figures need no
// data set for it.
type Labels struct {
	Classes []string `json:"classes"` // by class index
	// What the data set says of the keypoints of an instance: their names, for
	// each the one whose place it takes in a mirrored image, and the pairs that
	// bones join. Each is empty where it says nothing.
	Keypoints []string `json:"keypoints,omitempty"`
	FlipOrder []int    `json:"flip_order,omitempty"`
	Skeleton  [][2]int `json:"skeleton,omitempty"`
}

// Differs names the first part in which two sets of labels differ, such as
// `class 2 ("ship", now "plane")`; it is empty when they are equal.
func (l Labels) Differs(now Labels) string {
	if len(l.Classes) != len(now.Classes) {
		return fmt.Sprintf("the number of classes (%d, now %d)", len(l.Classes), len(now.Classes))
	}
	for i, name := range l.Classes {
		if name != now.Classes[i] {
			return fmt.Sprintf("class %d (%q, now %q)", i, name, now.Classes[i])
		}
	}
	switch {
	case !slices.Equal(l.Keypoints, now.Keypoints):
		return fmt.Sprintf("the names of keypoints (%q, now %q)", l.Keypoints, now.Keypoints)
	case !slices.Equal(l.FlipOrder, now.FlipOrder):
		return fmt.Sprintf("the flip order of keypoints (%v, now %v)", l.FlipOrder, now.FlipOrder)
	case !slices.Equal(l.Skeleton, now.Skeleton):
		return fmt.Sprintf("the skeleton (%v, now %v)", l.Skeleton, now.Skeleton)
	}
	return ""
}

func (l Labels) check(classes int) error {
	if len(l.Classes) != classes {
		return fmt.Errorf("%d names for %d classes; give every class a name", len(l.Classes), classes)
	}
	for i, name := range slices.Concat(l.Classes, l.Keypoints) {
		if name == "" || !utf8.ValidString(name) {
			return fmt.Errorf("name %d of classes and keypoints is empty or not UTF-8: %q", i, name)
		}
	}
	for _, bone := range l.Skeleton {
		if min(bone[0], bone[1]) < 0 || max(bone[0], bone[1]) >= len(l.Keypoints) {
			return fmt.Errorf("the bone %v joins what is none of %d named keypoints", bone, len(l.Keypoints))
		}
	}
	return nil
}

// Schedule is where the schedules stand.
type Schedule struct {
	Step  int     `json:"step"`  // number of the next optimizer step
	Rate  float64 `json:"rate"`  // learning rate of the latest step, 0 before the first
	Alpha float64 `json:"alpha"` // weight of the one-to-many branch
}

// Seeds are the seeds of the generators of a fit.
type Seeds struct {
	Trainer uint64 `json:"trainer"`
	Data    uint64 `json:"data"`
}

// family is a group of tensors of one meaning and its name prefix in the file.
type family struct {
	prefix  string
	tensors *[]Tensor
}

// families lists the prefixed families. The raw model has no prefix.
func (s *State) families() []family {
	return []family{{"ema.", &s.EMA}, {"momentum.", &s.Momentum}, {"gradient.", &s.Gradient}}
}

// check reports the first contradiction in a state, whether it is to be written
// or has been read.
func (s *State) check() error {
	if err := s.Meta.check(); err != nil {
		return err
	}
	if err := s.checkTensors("model", s.Model); err != nil {
		return err
	}
	for _, t := range s.Model {
		for _, f := range s.families() {
			if strings.HasPrefix(t.Name, f.prefix) {
				return fmt.Errorf("model tensor %q starts with %q, which is reserved; rename the state entry", t.Name, f.prefix)
			}
		}
	}
	for _, f := range s.families() {
		kind := strings.TrimSuffix(f.prefix, ".")
		if err := s.checkTensors(kind, *f.tensors); err != nil {
			return err
		}
		for _, t := range *f.tensors {
			if !t.IsFloat() {
				return fmt.Errorf("%s tensor %q is stored as %s; it must be floating-point", kind, t.Name, t.dtype)
			}
		}
	}
	if (s.Meta.EMA == nil) != (len(s.EMA) == 0) {
		return fmt.Errorf("moving-average counters and shadow must be stored together: %d shadow tensors", len(s.EMA))
	}
	if s.Meta.Pending == 0 && len(s.Gradient) > 0 {
		return fmt.Errorf("%d gradients are stored without a pending micro-batch", len(s.Gradient))
	}
	return nil
}

func (s *State) checkTensors(kind string, tensors []Tensor) error {
	seen := make(map[string]bool, len(tensors))
	for _, t := range tensors {
		if err := t.check(); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if !utf8.ValidString(t.Name) {
			return fmt.Errorf("%s: tensor name %q is not UTF-8", kind, t.Name)
		}
		if seen[t.Name] {
			return fmt.Errorf("%s: tensor %q is listed twice", kind, t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

func (m *Meta) check() error {
	if m.Task == "" || m.Scale == "" || m.Classes < 1 || m.Keypoints < 0 {
		return fmt.Errorf("network is not described: task %q, scale %q, %d classes, %d keypoints", m.Task, m.Scale, m.Classes, m.Keypoints)
	}
	for _, counter := range []struct {
		name  string
		value int
	}{{"epoch", m.Epoch}, {"batch", m.Batch}, {"step", m.Step}, {"pending", m.Pending}, {"schedule step", m.Schedule.Step}} {
		if counter.value < 0 {
			return fmt.Errorf("%s is %d; it cannot be negative", counter.name, counter.value)
		}
	}
	return m.Labels.check(m.Classes)
}

// Evaluation returns the tensors to evaluate: the raw model, or with average its
// moving average, in which integer counters stay those of the model. A model
// tensor without a shadow is an error, never a silent use of the raw one
// (YOLO26 specification, training section 11).
func (s *State) Evaluation(average bool) ([]Tensor, error) {
	if !average {
		return s.Model, nil
	}
	shadow := make(map[string]Tensor, len(s.EMA))
	for _, t := range s.EMA {
		shadow[t.Name] = t
	}
	tensors := make([]Tensor, len(s.Model))
	for i, t := range s.Model {
		if t.IsFloat() {
			average, ok := shadow[t.Name]
			if !ok {
				return nil, fmt.Errorf("checkpoint has no moving average of %q; evaluate the raw weights instead, by request", t.Name)
			}
			t = average
		}
		tensors[i] = t
	}
	return tensors, nil
}
