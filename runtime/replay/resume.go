package replay

import (
	"fmt"
	"slices"
)

// RestoreGradient writes a gradient that was saved with a checkpoint in the
// middle of an accumulation window and makes it present, so that the next
// backward pass adds to it. The Source has the shape of the parameter. The
// parameter must train and be reached by some output, as it was when its
// gradient was saved.
func (s *Stage) RestoreGradient(i int, gradient Source) error {
	if err := s.fit.usable(); err != nil {
		return err
	}
	p := s.plan.Parameters[i]
	memory := s.loaded.Gradient(i)
	if memory == nil {
		return fmt.Errorf("stage %s: no output reaches %s, so it cannot have a gradient", s.plan.Name, p.Name)
	}
	if !s.trainable[i].Trainable {
		return fmt.Errorf("stage %s: %s is frozen, so it cannot have a gradient; unfreeze it first", s.plan.Name, p.Name)
	}
	if err := gradient.check(); err != nil {
		return s.gradientError(i, err)
	}
	if !gradient.Present() || !slices.Equal(gradient.shape, p.Shape) {
		return s.gradientError(i, fmt.Errorf("it has shape %v, the parameter has %v", gradient.shape, p.Shape))
	}
	s.gradients.end()
	if err := gradient.copyTo(memory); err != nil {
		return s.fit.settle(s.gradientError(i, err))
	}
	s.presence[i] = Present
	return nil
}
