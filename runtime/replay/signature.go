package replay

import (
	"fmt"
	"slices"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Signature is what a recording was made for. Whole values are compared, never
// a hash of them.
type Signature struct {
	Sizes      ir.Sizes             `json:"sizes"`
	Inputs     []InputSignature     `json:"inputs"`
	Parameters []ParameterSignature `json:"parameters"`
}

// InputSignature describes one input of a call.
type InputSignature struct {
	Name    string `json:"name"`
	Shape   []int  `json:"shape"`
	Strides []int  `json:"strides,omitempty"` // elements; absent when contiguous
	Type    string `json:"type"`              // element type and, for tensors, "device"
}

// ParameterSignature tells whether a parameter trains. Parameters that no
// program uses are listed too.
type ParameterSignature struct {
	Name      string `json:"name"`
	Trainable bool   `json:"trainable"`
}

// describe reads the signature of a call off its inputs and refuses inputs that
// the stage cannot take.
func (s *Stage) describe(inputs []Source) (Signature, error) {
	if len(inputs) != len(s.plan.Inputs) {
		return Signature{}, fmt.Errorf("stage %s: %d inputs given, it has %d", s.plan.Name, len(inputs), len(s.plan.Inputs))
	}
	shapes := make([][]int, len(inputs))
	signature := Signature{Parameters: slices.Clone(s.trainable)}
	for i, in := range inputs {
		name := s.plan.Inputs[i].Name
		if !in.Present() {
			return Signature{}, fmt.Errorf("stage %s: input %s is absent; give its values", s.plan.Name, name)
		}
		if err := in.check(); err != nil {
			return Signature{}, fmt.Errorf("stage %s: input %s: %w", s.plan.Name, name, err)
		}
		shapes[i] = in.shape
		signature.Inputs = append(signature.Inputs, InputSignature{
			Name: name, Shape: slices.Clone(in.shape), Strides: slices.Clone(in.layout()), Type: in.kind(),
		})
	}
	sizes, err := solveSizes(s.plan, shapes)
	signature.Sizes = sizes
	return signature, err
}

// difference tells in which way a call departs from the signature of the fit;
// empty when it does not. Parameters have their own guard.
func (s Signature) difference(call Signature) string {
	switch {
	case call.Sizes.Batch < s.Sizes.Batch && call.Sizes.Height == s.Sizes.Height && call.Sizes.Width == s.Sizes.Width:
		return reasonPartialBatch
	case call.Sizes != s.Sizes:
		return "other size"
	}
	for i, in := range s.Inputs {
		switch got := call.Inputs[i]; {
		case !slices.Equal(in.Shape, got.Shape):
			return "other shape of input " + in.Name
		case !slices.Equal(in.Strides, got.Strides):
			return "other layout of input " + in.Name
		case in.Type != got.Type:
			return "other type of input " + in.Name
		}
	}
	return ""
}
