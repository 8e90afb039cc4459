package replay

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Forward runs the training forward pass on inputs, one per input of the plan,
// and returns one handle per output. The outputs are read-only and valid until
// the next Forward of the stage.
func (s *Stage) Forward(inputs []Source) ([]*Tensor, error) {
	if err := s.fit.usable(); err != nil {
		return nil, err
	}
	signature, err := s.describe(inputs)
	if err != nil {
		return nil, err
	}
	c := &call{signature: signature}
	s.adopt(signature)
	reason := s.firstReason(c)
	if err := s.refusal(reason); err != nil {
		return nil, err
	}
	s.step = nil
	s.outputs.end()
	b, err := s.bind(s.trainingSlot(signature), signature.Sizes)
	if err != nil {
		return nil, s.fit.settle(err)
	}
	if err := s.fill(b, inputs); err != nil {
		return nil, err
	}
	reason, err = s.launch(b, device.Forward(ir.Training), reason)
	if err != nil {
		return nil, err
	}
	s.counts.step(reason)
	s.step = &step{call: c, binding: b, reason: reason}
	return s.handles(b, &s.outputs, false), nil
}

// Evaluate runs the evaluation forward pass, natively in every fit (guard G9),
// also for training networks while no gradient is wanted. It leaves parameters,
// buffers, gradients and an open training step alone. Outputs that exist in
// training only are nil; the others are valid until the next Evaluate.
func (s *Stage) Evaluate(inputs []Source) ([]*Tensor, error) {
	if err := s.fit.usable(); err != nil {
		return nil, err
	}
	signature, err := s.describe(inputs)
	if err != nil {
		return nil, err
	}
	s.evaluated.end()
	b, err := s.bind(&s.bindings.evaluation, signature.Sizes)
	if err != nil {
		return nil, s.fit.settle(err)
	}
	if err := s.fill(b, inputs); err != nil {
		return nil, err
	}
	reason, err := s.launch(b, device.Forward(ir.Eval), s.firstReason(&call{evaluation: true, signature: signature}))
	if err != nil {
		return nil, err
	}
	s.counts.native(reason)
	return s.handles(b, &s.evaluated, true), nil
}

// Cotangent is the static memory for the cotangent of an output in the current
// step, for objectives that write on the device; pass it to Backward with
// FromTensor. It is valid until the next Forward.
func (s *Stage) Cotangent(output int) (*Tensor, error) {
	if s.step == nil {
		return nil, fmt.Errorf("stage %s: a cotangent before a forward pass; run Forward first", s.plan.Name)
	}
	return newTensor(s.step.binding.Cotangent(output), &s.outputs, false), nil
}

// adopt makes the signature of the first full training batch that of the fit.
// Every call of a stage that knows no batch is a full one.
func (s *Stage) adopt(signature Signature) {
	full := signature.Sizes.Batch >= s.fit.settings.Batch || !takesBatch(s.plan)
	if s.signature == nil && full {
		s.signature = &signature
	}
}

func (s *Stage) trainingSlot(signature Signature) *device.Binding {
	if s.signature != nil && s.signature.Sizes == signature.Sizes {
		return &s.bindings.primary
	}
	return &s.bindings.other
}

// fill copies the inputs to the binding's static memory, which is the only
// memory that launches read.
func (s *Stage) fill(b device.Binding, inputs []Source) error {
	for i, in := range inputs {
		if err := in.copyTo(b.Input(i)); err != nil {
			return s.fit.settle(fmt.Errorf("stage %s: input %s: %w", s.plan.Name, s.plan.Inputs[i].Name, err))
		}
	}
	return nil
}

func (s *Stage) handles(b device.Binding, l *life, evaluation bool) []*Tensor {
	outputs := make([]*Tensor, len(s.plan.Outputs))
	for i, port := range s.plan.Outputs {
		if !evaluation || !port.TrainingOnly {
			outputs[i] = newTensor(b.Output(i), l, true)
		}
	}
	return outputs
}
