package replay

import (
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Presence tells whether a gradient exists. A gradient that exists may be zero,
// which is another thing than absent: optimizers skip an absent one completely,
// while a zero one decays momentum and weights (YOLO26 specification, training
// section 4.5).
type Presence bool

// The presences.
const (
	Absent  Presence = false
	Present Presence = true
)

// String prints absent or present.
func (p Presence) String() string {
	if p {
		return "present"
	}
	return "absent"
}

// Gradient is the published gradient of the parameter at a position: the one
// memory that backward passes write, replayed or not, and that clipping and the
// optimizer read and may write. The handle is nil when absent, and valid until
// the next Backward or ClearGradients.
func (s *Stage) Gradient(i int) (*Tensor, Presence) {
	if s.presence[i] == Absent {
		return nil, Absent
	}
	return newTensor(s.loaded.Gradient(i), &s.gradients, false), Present
}

// InputGradient is the gradient of a differentiable input after Backward, valid
// until the next Forward.
func (s *Stage) InputGradient(i int) (*Tensor, Presence) {
	if s.step == nil || !slices.Contains(s.step.inputs, s.plan.Inputs[i].Name) {
		return nil, Absent
	}
	return newTensor(s.step.binding.InputGradient(i), &s.outputs, true), Present
}

// ClearGradients makes all gradients absent. Their memory stays, so recordings
// stay valid.
func (s *Stage) ClearGradients() {
	s.gradients.end()
	for i := range s.presence {
		s.presence[i] = Absent
	}
}

// keepGradients copies the gradients that a further backward pass is about to
// overwrite. In a fit that clears before each pass there are none.
func (s *Stage) keepGradients(reached []int) (map[int]sum, error) {
	kept := map[int]sum{}
	for _, i := range reached {
		if s.presence[i] == Absent {
			continue
		}
		total := newSum(s.loaded.Gradient(i))
		if err := total.read(); err != nil {
			return nil, s.gradientError(i, err)
		}
		kept[i] = total
	}
	return kept, nil
}

// publish adds what was kept and makes the gradients of trainable parameters
// present.
func (s *Stage) publish(reached []int, kept map[int]sum) error {
	for _, i := range reached {
		if !s.trainable[i].Trainable {
			continue
		}
		if total, found := kept[i]; found {
			if err := total.add(); err != nil {
				return s.gradientError(i, err)
			}
		}
		s.presence[i] = Present
	}
	return nil
}

// withdraw makes gradients absent that a failed backward pass may have half
// written.
func (s *Stage) withdraw(reached []int) {
	for _, i := range reached {
		s.presence[i] = Absent
	}
}

func (s *Stage) gradientError(i int, err error) error {
	return fmt.Errorf("stage %s: gradient of %s: %w", s.plan.Name, s.plan.Parameters[i].Name, err)
}

// sum adds the content of a gradient to what it held before, element by element
// in the gradient's own type.
type sum interface {
	read() error
	add() error
}

func newSum(gradient device.Tensor) sum {
	n := device.Elements(gradient.Shape())
	if gradient.Type() == device.TypeFloat64 {
		return &sumOf[float64]{gradient, make([]float64, n)}
	}
	return &sumOf[float32]{gradient, make([]float32, n)}
}

type sumOf[T device.Float] struct {
	gradient device.Tensor
	values   []T
}

func (s *sumOf[T]) read() error { return device.Read(s.gradient, s.values) }

func (s *sumOf[T]) add() error {
	latest := make([]T, len(s.values))
	if err := device.Read(s.gradient, latest); err != nil {
		return err
	}
	for i := range s.values {
		s.values[i] += latest[i]
	}
	return device.Write(s.gradient, s.values)
}
