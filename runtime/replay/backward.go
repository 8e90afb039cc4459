package replay

import (
	"fmt"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Backward runs the backward pass of the last Forward on cotangents, one per
// output of the plan. An absent Source means that the objective did not use the
// output: parameters that only such outputs reach keep an absent gradient, as
// natively. The present ones must be a set that the plan has a program for.
// Gradients add up over the backward passes since the last ClearGradients.
//
// A forward pass can be followed by one backward pass, which uses up its
// activations; a second one, and with it a second derivative, is an error.
func (s *Stage) Backward(cotangents []Source) error {
	if err := s.fit.usable(); err != nil {
		return err
	}
	pattern, err := s.checkBackward(cotangents)
	if err != nil {
		return err
	}
	reason := s.step.reason
	if reason == nil {
		reason = s.firstReason(s.step.call)
		if err := s.refusal(reason); err != nil {
			return err
		}
	}
	if pattern < 0 {
		s.step.spent = true
		return nil
	}
	return s.runBackward(pattern, cotangents, reason)
}

// checkBackward finds the program for the present cotangents, -1 when none is
// present, and refuses what the stage cannot take before anything changes.
func (s *Stage) checkBackward(cotangents []Source) (pattern int, err error) {
	name := s.plan.Name
	if s.step == nil {
		return 0, fmt.Errorf("stage %s: backward without a forward pass; run Forward first", name)
	}
	if s.step.spent {
		return 0, fmt.Errorf("stage %s: a second backward through one forward pass (such as a second derivative) is not supported; run Forward again", name)
	}
	if len(cotangents) != len(s.plan.Outputs) {
		return 0, fmt.Errorf("stage %s: %d cotangents given, it has %d outputs; give an absent one for an unused output", name, len(cotangents), len(s.plan.Outputs))
	}
	var present []string
	for i, c := range cotangents {
		if !c.Present() {
			continue
		}
		port := s.plan.Outputs[i]
		present = append(present, port.Name)
		err := c.check()
		if err == nil {
			err = checkShape(s.plan, port, s.step.call.signature.Sizes, c.shape)
		}
		if err != nil {
			return 0, fmt.Errorf("stage %s: cotangent of %s: %w", name, port.Name, err)
		}
	}
	if len(present) == 0 {
		return -1, nil
	}
	pattern, found := s.plan.Pattern(present)
	if !found {
		return 0, fmt.Errorf("stage %s: no backward program for cotangents of only %s; mark the other outputs optional in the definition and generate again", name, strings.Join(present, ", "))
	}
	return pattern, nil
}

func (s *Stage) runBackward(pattern int, cotangents []Source, reason *Reason) error {
	st := s.step
	for i, c := range cotangents {
		if !c.Present() {
			continue
		}
		if err := c.copyTo(st.binding.Cotangent(i)); err != nil {
			return s.fit.settle(fmt.Errorf("stage %s: cotangent of %s: %w", s.plan.Name, s.plan.Outputs[i].Name, err))
		}
	}
	reached := s.reached[pattern]
	kept, err := s.keepGradients(reached)
	if err != nil {
		return s.fit.settle(err)
	}
	s.gradients.end()
	st.spent = true
	reason, err = s.launch(st.binding, device.BackwardOf(pattern), reason)
	if err != nil {
		s.withdraw(reached)
		return err
	}
	if st.reason == nil {
		st.reason = reason
		s.counts.finish(reason)
	}
	st.inputs = s.plan.Backward[pattern].Inputs
	return s.fit.settle(s.publish(reached, kept))
}

// reachedBy lists, for each presence pattern, the positions of the parameters
// that it gives gradients.
func reachedBy(plan *ir.Stage) [][]int {
	position := map[string]int{}
	for i, p := range plan.Parameters {
		position[p.Name] = i
	}
	reached := make([][]int, len(plan.Backward))
	for pattern, b := range plan.Backward {
		for _, name := range b.Parameters {
			reached[pattern] = append(reached[pattern], position[name])
		}
	}
	return reached
}
