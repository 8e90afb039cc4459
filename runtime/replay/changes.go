package replay

import "fmt"

// The facts behind guards G5 to G7 come from outside the stage.

// SetTrainable freezes or unfreezes a parameter by its state-entry name. The
// gradient of a frozen parameter is absent. A change after the first training
// step keeps the stage native from then on (guard G5), because the signature of
// its recording names the parameters that train.
func (s *Stage) SetTrainable(parameter string, trainable bool) error {
	for i := range s.trainable {
		if s.trainable[i].Name != parameter {
			continue
		}
		if s.trainable[i].Trainable == trainable {
			return nil
		}
		s.trainable[i].Trainable = trainable
		if !trainable {
			s.presence[i] = Absent
		}
		if s.signature != nil && s.retrained == "" {
			s.retrained = map[bool]string{false: "frozen parameter ", true: "unfrozen parameter "}[trainable] + parameter
		}
		return nil
	}
	return fmt.Errorf("stage %s has no parameter %q; use a name of its parameter table", s.plan.Name, parameter)
}

// MarkChanged tells that what runs after the stage is no longer what the stage
// was generated for: another topology, another implementation bound to one of
// the head's functions, or a certificate that belongs to another head. The
// stage is native from then on (guard G6).
func (s *Stage) MarkChanged(what string) {
	if s.changed == "" {
		s.changed = what
	}
}

// SetObjectiveReplaced tells that the objective, its classification loss or one
// of its helpers is not the task's own. The stage is native from then on (guard
// G7), because another objective may leave gradients absent that the task's own
// never does.
func (s *Stage) SetObjectiveReplaced(name string) {
	if s.objective == "" {
		s.objective = name
	}
}
