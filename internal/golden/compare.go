package golden

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Measure is how the sampled elements of a tensor are judged, always relative to
// the root mean square of the whole tensor.
type Measure int

const (
	// RelativeL2 is the root mean square of the differences: the estimate of the
	// tensor's relative L2 error, for single-pass cases.
	RelativeL2 Measure = iota
	// Largest is the largest difference, for trajectories.
	Largest
)

// Deviation is a relative difference between a result and its reference.
type Deviation struct {
	Kind     string  // the caller's name for the kind of tensor or number
	Name     string  // of the tensor or number
	Quantity string  // what differs: presence, shape, l2, sum, value, probe, scalar
	Relative float64 // +Inf for a difference that no tolerance covers
	Detail   string
}

// String is one line for a log.
func (d Deviation) String() string {
	return fmt.Sprintf("%s %s: %s deviates by %.3g: %s", d.Kind, d.Name, d.Quantity, d.Relative, d.Detail)
}

// Comparison collects deviations. It keeps the worst of every kind and the first
// beyond its kind's tolerance.
type Comparison struct {
	measure   Measure
	tolerance map[string]float64
	worst     map[string]Deviation
	first     *Deviation
}

// NewComparison returns a comparison with a relative tolerance for every kind. A
// kind without one must be equal.
func NewComparison(measure Measure, tolerance map[string]float64) *Comparison {
	return &Comparison{measure: measure, tolerance: maps.Clone(tolerance), worst: map[string]Deviation{}}
}

// note adds a deviation. A NaN counts as infinite.
func (c *Comparison) note(d Deviation) {
	if math.IsNaN(d.Relative) {
		d.Relative = math.Inf(1)
	}
	if worst, ok := c.worst[d.Kind]; !ok || d.Relative > worst.Relative {
		c.worst[d.Kind] = d
	}
	if c.first == nil && d.Relative > c.tolerance[d.Kind] {
		c.first = &d
	}
}

// Scalar compares a number, relative to the reference; a reference of 0 must be
// met exactly.
func (c *Comparison) Scalar(kind, name string, want, got float64) {
	c.note(Deviation{kind, name, "scalar", relative(got-want, math.Abs(want)), fmt.Sprintf("want %.13g, got %.13g", want, got)})
}

// Family compares the numbers of all tensors of a kind, the probe relative to
// the reference's l2.
func (c *Comparison) Family(kind string, want, got Family) {
	c.note(Deviation{kind, "all", "l2", relative(got.L2-want.L2, want.L2), fmt.Sprintf("want %.13g, got %.13g", want.L2, got.L2)})
	c.note(Deviation{kind, "all", "probe", relative(got.Probe-want.Probe, want.L2), fmt.Sprintf("want %.13g, got %.13g", want.Probe, got.Probe)})
}

// Tensor compares a tensor with its sample. A nil sample and a nil value are
// absent, and must be so together. An all-zero reference must be met exactly.
func Tensor[T device.Float](c *Comparison, kind, name string, want *Sample, shape []int, got []T) {
	infinite := func(quantity, detail string) {
		c.note(Deviation{kind, name, quantity, math.Inf(1), detail})
	}
	switch {
	case want == nil && got == nil:
		return
	case want == nil:
		infinite("presence", "want absent, got values")
		return
	case got == nil:
		infinite("presence", "want values, got absent")
		return
	case !slices.Equal(want.Shape, shape) || want.Size() != len(got):
		infinite("shape", fmt.Sprintf("want %v, got %v with %d values", want.Shape, shape, len(got)))
		return
	}
	var squares, sum float64
	for _, v := range got {
		squares += float64(v) * float64(v)
		sum += float64(v)
	}
	l2, root := math.Sqrt(squares), math.Sqrt(float64(len(got)))
	c.note(Deviation{kind, name, "l2", relative(l2-want.L2, want.L2), fmt.Sprintf("want %.13g, got %.13g", want.L2, l2)})
	// A sum of n differences of l2 norm d is at most sqrt(n)*d.
	c.note(Deviation{kind, name, "sum", relative(sum-want.Sum, root*want.L2), fmt.Sprintf("want %.13g, got %.13g", want.Sum, sum)})
	c.note(sampled(c.measure, kind, name, want, got, want.L2/root))
}

// sampled judges the sampled elements.
func sampled[T device.Float](measure Measure, kind, name string, want *Sample, got []T, rms float64) Deviation {
	var squares, largest float64
	at := 0
	for k, i := range want.Index {
		difference := math.Abs(float64(got[i]) - want.Value[k])
		squares += difference * difference
		if difference > largest || math.IsNaN(difference) {
			largest, at = difference, k
		}
	}
	size := largest
	if measure == RelativeL2 {
		size = math.Sqrt(squares / float64(len(want.Index)))
	}
	detail := fmt.Sprintf("worst at element %d: want %.13g, got %.13g", want.Index[at], want.Value[at], float64(got[want.Index[at]]))
	return Deviation{kind, name, "value", relative(size, rms), detail}
}

// relative is |difference|/scale, where nothing but 0 is near a scale of 0.
func relative(difference, scale float64) float64 {
	if difference == 0 {
		return 0
	}
	return math.Abs(difference) / scale
}

// Worst returns the worst deviation of every kind, sorted by kind.
func (c *Comparison) Worst() []Deviation {
	deviations := make([]Deviation, 0, len(c.worst))
	for _, d := range c.worst {
		deviations = append(deviations, d)
	}
	slices.SortFunc(deviations, func(a, b Deviation) int { return strings.Compare(a.Kind, b.Kind) })
	return deviations
}

// Err is nil when every deviation is within its tolerance, and otherwise names
// the first that is not, in the order of the calls.
func (c *Comparison) Err() error {
	if c.first == nil {
		return nil
	}
	return fmt.Errorf("%v; the tolerance is %.3g", *c.first, c.tolerance[c.first.Kind])
}
