package config

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// given is a value that the user wrote.
type given struct {
	key    *key
	text   string
	origin string // "FILE:LINE" or "--FLAG"
}

// Register adds one flag per key, of the key's name.
func Register(flags *pflag.FlagSet) {
	for i := range keys {
		k := &keys[i]
		flag := flags.VarPF(&flagValue{key: k, text: k.defaultText()}, k.name, "", k.usage())
		if _, ok := k.fallback.(bool); ok || isExtent(k) {
			flag.NoOptDefVal = "true"
		}
	}
}

// flagValue keeps the text of a flag; Load judges it together with the file.
type flagValue struct {
	key  *key
	text string
}

func (v *flagValue) String() string { return v.text }
func (v *flagValue) Type() string {
	if isExtent(v.key) {
		return "bool"
	}
	return fmt.Sprintf("%T", v.key.fallback)
}

func (v *flagValue) Set(text string) error {
	v.text = text
	return nil
}

// defaultText is the default in a flag's help.
func (k *key) defaultText() string {
	if k.required {
		return ""
	}
	return format(k.fallback)
}

// usage is the help of a flag: meaning, range, and what depends on the task.
func (k *key) usage() string {
	usage := k.help + "; " + k.allowed.text
	if k.tasks != nil {
		usage += "; " + strings.Join(k.tasks, ", ") + " only"
	}
	for _, task := range taskNames {
		if v, ok := k.byTask[task]; ok {
			usage += fmt.Sprintf("; %s: default %s", task, format(v))
		}
	}
	for _, scale := range []string{"s", "m", "l", "x"} {
		if v, ok := k.byScale[scale]; ok {
			usage += fmt.Sprintf("; scale %s: default %s", scale, format(v))
		}
	}
	return usage
}

// Load resolves the settings from the YAML file at path, or none when path is
// empty, and from the flags that Register added and the user set; flags win.
// The first unknown key, impossible value or contradiction is an error that
// names the file and line or the flag, and what is allowed.
func Load(path string, flags *pflag.FlagSet) (*Settings, error) {
	var values []given
	if path != "" {
		var err error
		if values, err = readFile(path); err != nil {
			return nil, err
		}
	}
	flags.Visit(func(flag *pflag.Flag) { // in the order of the names
		if k := find(flag.Name); k != nil {
			values = append(values, given{k, flag.Value.String(), "--" + flag.Name})
		}
	})
	return resolve(values)
}

// resolve applies defaults and given values, later ones over earlier ones.
func resolve(values []given) (*Settings, error) {
	s := &Settings{given: map[string]bool{}}
	origins := map[string]string{}
	for _, v := range values {
		value, ok := v.key.parse(v.text)
		if !ok {
			return nil, fmt.Errorf("%s: %s is %q; it must be %s", v.origin, v.key.name, v.text, v.key.allowed.text)
		}
		v.key.set(s, value)
		origins[v.key.name] = v.origin
		s.given[v.key.name] = true
	}
	if _, ok := origins["task"]; !ok {
		return nil, missing(find("task"), "")
	}
	for i := range keys {
		k := &keys[i]
		origin, ok := origins[k.name]
		switch {
		case ok && !k.appliesTo(s.Task) && k.get(s) != k.defaultFor(s.Task):
			return nil, fmt.Errorf("%s: %s applies to task %s only, and the task is %s; remove it", origin, k.name, strings.Join(k.tasks, ", "), s.Task)
		case !ok && k.required && k.appliesTo(s.Task):
			return nil, missing(k, s.Task)
		case !ok:
			k.set(s, k.defaultFor(s.Task))
		}
	}
	// The scale is known only now.
	for i := range keys {
		if k := &keys[i]; k.byScale != nil && !s.given[k.name] {
			k.set(s, k.defaultAt(s.Task, s.Model.Scale))
		}
	}
	return s, s.checkPrecision(origins)
}

// missing is the error for a key without default.
func missing(k *key, task string) error {
	if task != "" {
		task = " for task " + task
	}
	return fmt.Errorf("%s is not set%s; set it in the file or by --%s to %s", k.name, task, k.name, k.allowed.text)
}

// checkPrecision reports a precision that the device does not compute in.
func (s *Settings) checkPrecision(origins map[string]string) error {
	device := map[string]string{"fp16": "cuda", "bf16": "cuda", "float64": "host"}[s.Trainer.Precision]
	if device == "" || device == s.Device {
		return nil
	}
	return fmt.Errorf("%s: trainer.precision is %s, which needs device %s, and the device is %s; change one of them",
		origins["trainer.precision"], s.Trainer.Precision, device, s.Device)
}
