package golden

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Sample describes a tensor by its shape, two sums and up to 16 elements.
type Sample struct {
	Shape []int     `json:"shape"`
	L2    float64   `json:"l2"`    // square root of the sum of squares
	Sum   float64   `json:"sum"`   // of all elements
	Index []int     `json:"index"` // positions in the row-major flattening
	Value []float64 `json:"value"` // elements at Index
}

// check reports a sample that describes no tensor.
func (s *Sample) check() error {
	if s == nil {
		return fmt.Errorf("has no sample")
	}
	size, err := sizeOf(s.Shape)
	if err != nil {
		return err
	}
	if len(s.Index) == 0 || len(s.Index) != len(s.Value) {
		return fmt.Errorf("has %d indices and %d values; it needs one value for every index", len(s.Index), len(s.Value))
	}
	for _, i := range s.Index {
		if i < 0 || i >= size {
			return fmt.Errorf("has index %d, outside shape %v", i, s.Shape)
		}
	}
	if s.L2 < 0 {
		return fmt.Errorf("has a negative l2, %v", s.L2)
	}
	return nil
}

// Size is the number of elements of the tensor.
func (s *Sample) Size() int {
	size := 1
	for _, d := range s.Shape {
		size *= d
	}
	return size
}

// Family describes all tensors of one kind together.
type Family struct {
	L2    float64 `json:"l2"`    // of all elements of all tensors
	Probe float64 `json:"probe"` // see AddTensor
}

// Summary sums tensors into the numbers of a Family.
type Summary struct {
	rule         Rule
	squares, dot float64
}

// NewSummary returns an empty summary of a trajectory with the given seed.
func NewSummary(seed uint64) *Summary { return &Summary{rule: NewRule(seed)} }

// AddTensor adds a tensor of a state entry: its squares, and the sum of its
// elements times u of the sequence "probe." + name, which notices elements that
// are exchanged or lie under a wrong name.
func AddTensor[T device.Float](s *Summary, name string, value []T) {
	stream := s.rule.Stream("probe." + name)
	for i, v := range value {
		s.squares += float64(v) * float64(v)
		s.dot += stream.U(i) * float64(v)
	}
}

// Family returns the numbers so far.
func (s *Summary) Family() Family { return Family{L2: math.Sqrt(s.squares), Probe: s.dot} }
