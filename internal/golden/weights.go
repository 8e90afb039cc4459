package golden

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Weights are the initial floating-point parameters and buffers of a network, by
// state-entry name (YOLO26 specification, network section 9).
type Weights struct {
	rule Rule
	// entries are the names of all state entries of a trajectory; nil for a case.
	entries map[string]bool
}

// CaseWeights returns the weights of a single-pass case.
func CaseWeights(seed uint64) Weights { return Weights{rule: NewRule(seed)} }

// TrajectoryWeights returns the weights of a training trajectory. entries lists
// the names of all parameters and buffers: a convolution with a bias has other
// weights than one in front of a batch norm.
func TrajectoryWeights(seed uint64, entries []string) Weights {
	w := Weights{rule: NewRule(seed), entries: make(map[string]bool, len(entries))}
	for _, name := range entries {
		w.entries[name] = true
	}
	return w
}

// The entries whose values differ in a trajectory, so that its first steps have
// objects near their targets and gradients in every part.
var (
	lastKeypointWeight = regexp.MustCompile(`^head\.[^.]+\.keypoint_stems\.\d+\.2\.weight$`)
	lastBoxBias        = regexp.MustCompile(`^head\.[^.]+\.box_stems\.\d+\.2\.bias$`)
	lastClassBias      = regexp.MustCompile(`^(head\.[^.]+\.cls_stems\.\d+\.2|semantic\.classifier)\.bias$`)
	flowGain           = regexp.MustCompile(`^rle_loss\.layers\.\d+\.gain$`)
)

// Fill sets value to the elements of a state entry in row-major order. It is an
// error when the rule covers no such entry, or the length contradicts the shape.
func Fill[T device.Float](w Weights, name string, shape []int, value []T) error {
	if size, err := sizeOf(shape); err != nil || size != len(value) {
		return fmt.Errorf("state entry %q of shape %v has %d values", name, shape, len(value))
	}
	offset, scale, err := w.affine(name, shape)
	if err != nil {
		return err
	}
	s := w.rule.Stream(name)
	for i := range value {
		value[i] = T(offset + scale*s.U(i))
	}
	return nil
}

// affine returns the two numbers of offset + scale*u.
func (w Weights) affine(name string, shape []int) (offset, scale float64, err error) {
	if w.entries != nil {
		switch {
		case lastBoxBias.MatchString(name):
			return 1.25, 0.25, nil
		case lastClassBias.MatchString(name):
			return -2, 0.1, nil
		case flowGain.MatchString(name):
			return 1, 0.25, nil
		}
	}
	switch {
	case strings.HasSuffix(name, ".running_mean"), strings.HasSuffix(name, ".bias"):
		return 0, 0.1, nil
	case strings.HasSuffix(name, ".running_var"):
		return 1, 0.5, nil
	case strings.HasSuffix(name, ".weight") && len(shape) == 1:
		return 1, 0.25, nil
	case strings.HasSuffix(name, ".weight") && len(shape) >= 2:
		fanIn := 1
		for _, d := range shape[1:] {
			fanIn *= d
		}
		return 0, w.gain(name, shape) * math.Sqrt(3/float64(fanIn)), nil
	}
	return 0, 0, fmt.Errorf("no rule for state entry %q of shape %v; counters start at 0", name, shape)
}

// gain is the factor of a trajectory's convolution weights.
func (w Weights) gain(name string, shape []int) float64 {
	switch {
	case w.entries == nil:
		return 1
	case lastKeypointWeight.MatchString(name):
		return 0.25
	case len(shape) == 4 && !w.entries[strings.TrimSuffix(name, ".weight")+".bias"]:
		return 4
	}
	return 1
}

// sizeOf is the number of elements of a shape with positive dimensions.
func sizeOf(shape []int) (int, error) {
	size := 1
	for _, d := range shape {
		if d < 1 || size > math.MaxInt/d {
			return 0, fmt.Errorf("shape %v is not a tensor's", shape)
		}
		size *= d
	}
	return size, nil
}
