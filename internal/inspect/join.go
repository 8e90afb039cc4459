package inspect

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Join puts stages, as their authors wrote them and in the order in which they
// run, into one that does the work of all: an input that has the name of an
// earlier output is that output. Outputs that a later stage reads are no longer
// outputs. A single stage is returned as it is; otherwise the result shares
// nothing with the stages. It is for counting and drawing only.
func Join(name string, stages ...*ir.Stage) (*ir.Stage, error) {
	if len(stages) == 1 {
		return stages[0], nil
	}
	j := joiner{
		joined: &ir.Stage{Format: ir.FormatVersion, Name: name, Multiple: ir.Multiple{Height: 1, Width: 1}},
		made:   map[string]ir.Port{}, read: map[string]bool{},
	}
	for _, s := range stages {
		if err := j.add(s); err != nil {
			return nil, fmt.Errorf("stage %s: %w", s.Name, err)
		}
	}
	for _, p := range j.outputs {
		if !j.read[p.Name] {
			j.joined.Outputs = append(j.joined.Outputs, p)
		}
	}
	return j.joined, nil
}

type joiner struct {
	joined  *ir.Stage
	made    map[string]ir.Port // inputs and outputs so far, in terms of joined
	outputs []ir.Port
	read    map[string]bool // outputs that a later stage reads
}

// add appends a copy of one stage.
func (j *joiner) add(s *ir.Stage) error {
	data, err := ir.Encode(s)
	if err != nil {
		return err
	}
	if s, err = ir.Decode(data); err != nil {
		return err
	}
	j.joined.Multiple.Height = max(j.joined.Multiple.Height, s.Multiple.Height)
	j.joined.Multiple.Width = max(j.joined.Multiple.Width, s.Multiple.Width)
	moved := make([]ir.Ref, len(s.Tensors)+1)
	for i, t := range s.Tensors {
		moved[i+1] = j.joined.AddTensor(t)
	}
	for _, p := range s.Inputs {
		if before, known := j.made[p.Name]; known {
			moved[p.Tensor], j.read[p.Name] = before.Tensor, true
			continue
		}
		p.Tensor = moved[p.Tensor]
		j.made[p.Name] = p
		j.joined.Inputs = append(j.joined.Inputs, p)
	}
	for _, p := range s.Parameters {
		p.Tensor = moved[p.Tensor]
		j.joined.Parameters = append(j.joined.Parameters, p)
	}
	for _, b := range s.Buffers {
		b.Tensor = moved[b.Tensor]
		j.joined.Buffers = append(j.joined.Buffers, b)
	}
	for _, op := range s.Forward {
		op.Do.Operands(func(_ string, ref *ir.Ref, _ ir.Access) { *ref = moved[*ref] })
		j.joined.Forward = append(j.joined.Forward, op)
	}
	for _, p := range s.Outputs {
		if _, twice := j.made[p.Name]; twice {
			return fmt.Errorf("the output %s has the name of an earlier input or output; rename one", p.Name)
		}
		p.Tensor = moved[p.Tensor]
		j.made[p.Name] = p
		j.outputs = append(j.outputs, p)
	}
	return nil
}
