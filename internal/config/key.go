package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
)

// key is one row of the table of settings.
type key struct {
	name      string
	help      string
	field     func(*Settings) any // pointer to string, int, uint64, float64 or bool; recorded
	fallback  any                 // default, of the type of the field
	byTask    map[string]any      // defaults of the tasks that differ
	byScale   map[string]any      // defaults of the network scales that differ
	allowed   constraint
	tasks     []string // tasks it applies to, nil: all
	required  bool     // has no default
	execution bool     // chooses how a fit is executed, not what it computes
}

// constraint is the range of a key's values.
type constraint struct {
	text string
	ok   func(value any) bool
}

// extent is how much of a network is recorded: false, true or full.
type extent string

// recorded is the field of an extent: two flags of the settings.
type recorded struct{ some, all *bool }

var extents = constraint{"true, false or full", func(v any) bool { return v == extent("false") || v == extent("true") || v == extent("full") }}

// taskNames lists the values of the key task.
var taskNames = []string{"detect", "obb", "pose", "segment"}

func oneOf(values ...string) constraint {
	return constraint{"one of " + strings.Join(values, ", "), func(v any) bool { return slices.Contains(values, v.(string)) }}
}

func integers(low, high int) constraint {
	text := fmt.Sprintf("an integer from %d to %d", low, high)
	return constraint{text, func(v any) bool { return v.(int) >= low && v.(int) <= high }}
}

// multiples is the multiples of step from step to high.
func multiples(step, high int) constraint {
	text := fmt.Sprintf("a multiple of %d from %d to %d", step, step, high)
	return constraint{text, func(v any) bool { return v.(int) >= step && v.(int) <= high && v.(int)%step == 0 }}
}

func numbers(text string, ok func(float64) bool) constraint {
	return constraint{text, func(v any) bool { return ok(v.(float64)) }}
}

// Ranges that several keys share.
var (
	atLeastZero = numbers("a finite number of at least 0", func(v float64) bool { return v >= 0 && v <= math.MaxFloat64 })
	aboveZero   = numbers("a finite number above 0", func(v float64) bool { return v > 0 && v <= math.MaxFloat64 })
	fraction    = numbers("a number of at least 0 and below 1", func(v float64) bool { return v >= 0 && v < 1 })
	weight      = numbers("a number from 0 to 1", func(v float64) bool { return v >= 0 && v <= 1 })
	unsigned    = constraint{"an integer from 0 to 18446744073709551615", func(any) bool { return true }}
	boolean     = constraint{"true or false", func(any) bool { return true }}
	text        = constraint{"text", func(any) bool { return true }}
	textNeeded  = constraint{"text that is not empty", func(v any) bool { return v.(string) != "" }}
)

// appliesTo reports that a task uses the key.
func (k *key) appliesTo(task string) bool { return k.tasks == nil || slices.Contains(k.tasks, task) }

// defaultFor is the key's default for a task.
func (k *key) defaultFor(task string) any {
	if v, ok := k.byTask[task]; ok {
		return v
	}
	return k.fallback
}

// defaultAt is the key's default for a task at a network scale.
func (k *key) defaultAt(task, scale string) any {
	if v, ok := k.byScale[scale]; ok {
		return v
	}
	return k.defaultFor(task)
}

// parse reads a value of the key's type, ok reports that it is one and in range.
func (k *key) parse(text string) (value any, ok bool) {
	var err error
	switch k.fallback.(type) {
	case string:
		value = text
	case extent:
		value = extent(text)
	case int:
		value, err = strconv.Atoi(text)
	case uint64:
		value, err = strconv.ParseUint(text, 10, 64)
	case float64:
		value, err = strconv.ParseFloat(text, 64)
	case bool:
		value = text == "true"
		if text != "true" && text != "false" {
			return nil, false
		}
	}
	return value, err == nil && k.allowed.ok(value)
}

// format is the inverse of parse.
func format(value any) string {
	if f, ok := value.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// set stores a value of the key's type.
func (k *key) set(s *Settings, value any) {
	switch field := k.field(s).(type) {
	case *string:
		*field = value.(string)
	case *int:
		*field = value.(int)
	case *uint64:
		*field = value.(uint64)
	case *float64:
		*field = value.(float64)
	case *bool:
		*field = value.(bool)
	case recorded:
		*field.some, *field.all = value != extent("false"), value == extent("full")
	}
}

// get reads the key's value.
func (k *key) get(s *Settings) any {
	switch field := k.field(s).(type) {
	case *string:
		return *field
	case *int:
		return *field
	case *uint64:
		return *field
	case *float64:
		return *field
	case *bool:
		return *field
	case recorded:
		if *field.all {
			return "full"
		}
		return *field.some
	}
	return nil
}

// find returns the key of a name, nil when there is none.
func find(name string) *key {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}

// isSection reports that keys lie below a name.
func isSection(name string) bool {
	return slices.ContainsFunc(keys, func(k key) bool { return strings.HasPrefix(k.name, name+".") })
}

// nearest is the key whose name, with or without its section, is closest to an
// unknown one.
func nearest(name string) string {
	best, distance := "", math.MaxInt
	for i := range keys {
		full := keys[i].name
		_, last, _ := strings.Cut(full, ".")
		// A forgotten section costs as much as one wrong letter.
		d := min(levenshtein.Distance(name, full, nil), 1+levenshtein.Distance(name, last, nil))
		if d < distance {
			best, distance = full, d
		}
	}
	return best
}
