package inspect

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/tasks/obb"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// Network is a task that ships with the project.
type Network struct {
	Task    string
	Classes int // of the published model
	Size    int // height and width that the published counts stand for, in pixels
	Define  func(scale yolo26.Scale, classes int, options ...stage.InputOption) *stage.Definition
}

// Networks lists the tasks by name.
func Networks() []Network {
	return []Network{{
		Task: "obb", Classes: obb.Classes, Size: 1024,
		Define: obb.Define,
	}}
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
