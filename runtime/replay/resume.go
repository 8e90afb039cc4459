package replay

import "fmt"

// RestoreGradient writes a gradient that was saved with a checkpoint in the
// middle of an accumulation window and makes it present, so that the next
// backward pass adds to it. The stage must have given the parameter a gradient
// tensor, which it does for every parameter that some output reaches.
func (s *Stage) RestoreGradient(i int, gradient Source) error {
	if err := s.fit.usable(); err != nil {
		return err
	}
	memory := s.loaded.Gradient(i)
	if memory == nil {
		return fmt.Errorf("stage %s: no output reaches %s, so it cannot have a gradient", s.plan.Name, s.plan.Parameters[i].Name)
	}
	if err := gradient.check(); err != nil {
		return s.gradientError(i, err)
	}
	s.gradients.end()
	if err := gradient.copyTo(memory); err != nil {
		return s.gradientError(i, err)
	}
	s.presence[i] = Present
	return nil
}
