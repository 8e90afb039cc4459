package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// YAML returns the complete settings of the task, sorted by key, such that Load
// reads the same settings from it.
func (s *Settings) YAML() ([]byte, error) {
	var top yaml.MapSlice
	for i := range keys {
		k := &keys[i]
		if !k.appliesTo(s.Task) {
			continue
		}
		section, name, nested := strings.Cut(k.name, ".")
		if !nested {
			top = append(top, yaml.MapItem{Key: section, Value: k.get(s)})
			continue
		}
		// The table is sorted, so the keys of a section follow each other.
		if n := len(top); n == 0 || top[n-1].Key != section {
			top = append(top, yaml.MapItem{Key: section, Value: yaml.MapSlice{}})
		}
		last := &top[len(top)-1]
		last.Value = append(last.Value.(yaml.MapSlice), yaml.MapItem{Key: name, Value: k.get(s)})
	}
	data, err := yaml.Marshal(top)
	if err != nil {
		return nil, fmt.Errorf("cannot write the settings: %w", err)
	}
	return data, nil
}

// HyperParameters returns the settings of the task that determine a fit's
// results, as text by key. Settings that choose how the fit is executed, such as
// the recording options and the directory, are left out: checkpoints must not
// depend on them.
func (s *Settings) HyperParameters() map[string]string {
	return s.parameters(func(k *key) any { return k.get(s) })
}

// DefaultHyperParameters returns what HyperParameters would be for the task and the
// scale if nobody had changed a setting.
func (s *Settings) DefaultHyperParameters() map[string]string {
	return s.parameters(func(k *key) any { return k.defaultAt(s.Task, s.Model.Scale) })
}

func (s *Settings) parameters(value func(*key) any) map[string]string {
	parameters := map[string]string{}
	for i := range keys {
		if k := &keys[i]; k.appliesTo(s.Task) && !k.execution {
			parameters[k.name] = format(value(k))
		}
	}
	return parameters
}
