package config

import (
	"fmt"
	"slices"
	"strings"
)

// Defaults are the settings of a task that nobody changed. A key without a
// default, such as the number of keypoints, is left zero for the caller.
func Defaults(task string) (*Settings, error) {
	if !slices.Contains(taskNames, task) {
		return nil, fmt.Errorf("unknown task %q; there are %s", task, strings.Join(taskNames, ", "))
	}
	s := &Settings{given: map[string]bool{}}
	for i := range keys {
		keys[i].set(s, keys[i].defaultFor(task))
	}
	s.Task = task
	return s, nil
}
