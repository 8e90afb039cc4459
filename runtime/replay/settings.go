package replay

import (
	"errors"
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Settings are the facts about a training run that decide what may be
// replayed. The zero value is one device, no accumulation, FP32 and no strict
// policy.
type Settings struct {
	// Precision of activations; empty means device.FP32.
	Precision device.Precision

	// Strict turns every native call for which a replay was asked into an
	// error, evaluation excepted, before the step changes anything.
	Strict bool

	// Accumulate is the largest number of backward passes between two
	// optimizer steps in the whole fit, also while a warm-up still uses
	// fewer. Above 1 nothing is recorded. 0 means 1.
	Accumulate int

	// Devices is the number of devices that train together. Above 1 nothing
	// is recorded. 0 means 1.
	Devices int

	// Manual tells that the caller steps the optimizer at moments of its own
	// choice; nothing is recorded then.
	Manual bool

	// Batch is the number of images of a full batch. 0 takes the first
	// training batch as full.
	Batch int

	// Seed starts parameters and the stages' random generators.
	Seed uint64

	// Warn receives each warning once; nil keeps them for the report only.
	Warn func(warning string)
}

// StageOptions are the wishes for one stage.
type StageOptions struct {
	// Capture asks for recording and replay.
	Capture bool

	// Option is the name under which users asked, for messages, such as
	// capture_network; empty means "capture".
	Option string

	// Precision of the stage's activations where it is not that of the fit,
	// such as FP32 for an optimizer; empty means the fit's.
	Precision device.Precision
}

// complete fills in defaults and refuses what has no meaning.
func (s Settings) complete() (Settings, error) {
	if s.Precision == "" {
		s.Precision = device.FP32
	}
	if err := checkPrecision(s.Precision); err != nil {
		return s, err
	}
	for _, count := range []struct {
		name  string
		value int
	}{{"accumulate", s.Accumulate}, {"devices", s.Devices}, {"batch", s.Batch}} {
		if count.value < 0 {
			return s, fmt.Errorf("%s is %d; use a positive number, or 0 for the default", count.name, count.value)
		}
	}
	s.Accumulate = max(s.Accumulate, 1)
	s.Devices = max(s.Devices, 1)
	return s, nil
}

func checkPrecision(p device.Precision) error {
	known := []device.Precision{device.FP32, device.FP16, device.BF16, device.Float64}
	if !slices.Contains(known, p) {
		return fmt.Errorf("precision %q is unknown; use one of %v", p, known)
	}
	return nil
}

var errNoDevice = errors.New("a fit needs a device; open one with a back end, such as runtime/host")
