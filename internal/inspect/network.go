package inspect

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/tasks/detect"
	"github.com/reprise-ml/reprise/tasks/obb"
	"github.com/reprise-ml/reprise/tasks/pose"
	"github.com/reprise-ml/reprise/tasks/segment"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// Model says which network of a task is meant.
type Model struct {
	Scale     yolo26.Scale
	Classes   int
	Keypoints int // of an object; 0 for a task without
}

// Network is a task that ships with the project.
type Network struct {
	Task      string
	Classes   int // of the published model
	Keypoints int // of the published model
	Size      int // height and width that the published counts stand for, in pixels
	// Define gives the stages in the order in which they run; options apply to
	// the image.
	Define func(m Model, options ...stage.InputOption) []*stage.Definition
}

// Networks lists the tasks by name.
func Networks() []Network {
	return []Network{
		{Task: "detect", Classes: detect.Classes, Size: 640, Define: func(m Model, options ...stage.InputOption) []*stage.Definition {
			return []*stage.Definition{detect.Define(m.Scale, m.Classes, options...)}
		}},
		{Task: "obb", Classes: obb.Classes, Size: 1024, Define: func(m Model, options ...stage.InputOption) []*stage.Definition {
			return []*stage.Definition{obb.Define(m.Scale, m.Classes, options...)}
		}},
		{Task: "pose", Classes: pose.Classes, Keypoints: pose.Points, Size: 640, Define: func(m Model, options ...stage.InputOption) []*stage.Definition {
			return pose.Define(m.Scale, m.Classes, m.Keypoints, options...)
		}},
		{Task: "segment", Classes: segment.Classes, Size: 640, Define: func(m Model, options ...stage.InputOption) []*stage.Definition {
			return segment.Define(m.Scale, m.Classes, options...)
		}},
	}
}

// FindNetwork finds a task by its name; the error suggests the nearest.
func FindNetwork(task string) (Network, error) {
	var names []string
	for _, n := range Networks() {
		if n.Task == task {
			return n, nil
		}
		names = append(names, n.Task)
	}
	return Network{}, unknown("task", task, names)
}

// FindScale finds a scale by its letter; the error suggests the nearest.
func FindScale(name string) (yolo26.Scale, error) {
	var names []string
	for _, s := range yolo26.Scales() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return yolo26.Scale{}, unknown("scale", name, names)
}

// unknown says that a name is none of the known ones, and which is nearest: the
// first of those with the fewest edits.
func unknown(what, name string, known []string) error {
	nearest, edits := "", 0
	for _, k := range known {
		if d := levenshtein.Distance(strings.ToLower(name), k, nil); nearest == "" || d < edits {
			nearest, edits = k, d
		}
	}
	return fmt.Errorf("unknown %s %q; did you mean %s? there are %s", what, name, nearest, strings.Join(known, ", "))
}

// Sizes of images, in pixels: a multiple of SizeStep up to MaxSize.
const (
	SizeStep = yolo26.Stride
	MaxSize  = 16384
)

// ValidSize tells whether an image may have this height or width.
func ValidSize(pixels int) bool {
	return pixels >= SizeStep && pixels <= MaxSize && pixels%SizeStep == 0
}
