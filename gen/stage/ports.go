package stage

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// InputOption changes how an input is treated.
type InputOption func(*ir.Port)

// Differentiable asks for the gradient of an input, as a stage needs whose
// input is the output of another stage.
func Differentiable() InputOption { return func(p *ir.Port) { p.Differentiable = true } }

// Input declares a tensor that the caller provides: a map (N, C, H, W), rows
// (N, R, C) or a vector (N, C), the first size always Batch.
func (b *Builder) Input(name string, shape Shape, options ...InputOption) Tensor {
	pos := author()
	if !b.port(pos, "input", name) {
		return b.failed()
	}
	k, known := map[int]kind{2: vectorKind, 3: rowsKind, 4: mapKind}[len(shape)]
	if !known || shape[0] != Batch {
		b.core.mistake(pos, "input", fmt.Sprintf("%s has %d sizes, the first not Batch or the number not 2, 3 or 4", name, len(shape)), "declare (Batch, C), (Batch, R, C) or (Batch, C, H, W)")
		return b.failed()
	}
	out := make([]ir.Dim, len(shape))
	for i, s := range shape {
		d, err := s.dim(b.core.stage.Multiple)
		if err != nil {
			b.core.mistake(pos, "input", fmt.Sprintf("%s: %v", name, err), "use a positive number, Batch, Height or Width, or a part of them that Builder.Multiple, declared first, makes whole")
			return b.failed()
		}
		out[i] = d
	}
	if _, fixed := out[len(out)-channelsFromEnd(k)].Constant(); !fixed {
		b.core.mistake(pos, "input", fmt.Sprintf("%s has an open number of channels", name), "channels are fixed when code is generated: use a number")
		return b.failed()
	}
	ref := b.value(name, k, out)
	port := ir.Port{Name: name, Tensor: ref, Pos: pos}
	for _, o := range options {
		o(&port)
	}
	b.core.stage.Inputs = append(b.core.stage.Inputs, port)
	return Tensor{core: b.core, ref: ref}
}

// channelsFromEnd is where the channels of a kind of tensor stand.
func channelsFromEnd(k kind) int {
	if k == mapKind {
		return 3
	}
	return 1
}

func (s Size) dim(multiple ir.Multiple) (ir.Dim, error) {
	switch {
	case s > 0:
		return ir.Const(int(s)), nil
	case s == 0:
		return ir.Dim{}, fmt.Errorf("the size 0 is not a size")
	}
	kind, divisor := s.open()
	whole, known := map[int]ir.Dim{-int(Batch): ir.N, -int(Height): ir.H, -int(Width): ir.W}[kind]
	if !known {
		return ir.Dim{}, fmt.Errorf("the size %d is not a size", int(s))
	}
	part, even := whole.Divide(divisor, multiple)
	if !even {
		return ir.Dim{}, fmt.Errorf("%s/%d does not come out even for every allowed size", whole, divisor)
	}
	return part, nil
}

// OutputOption changes how an output is treated.
type OutputOption func(*ir.Port)

// Optional declares that the objective may leave an output unused: then it
// has no cotangent, and what only it needs has absent gradients.
func Optional() OutputOption { return func(p *ir.Port) { p.Optional = true } }

// OptionalTogether declares optional outputs that are unused together or not
// at all: all outputs with one group name. One backward program is made with
// and one without the whole group.
func OptionalTogether(group string) OutputOption {
	return func(p *ir.Port) { p.Optional, p.Group = true, group }
}

// TrainingOnly declares an output that evaluation does not have.
func TrainingOnly() OutputOption { return func(p *ir.Port) { p.TrainingOnly = true } }

// Output declares a tensor that the caller receives.
func (b *Builder) Output(name string, t Tensor, options ...OutputOption) {
	pos := author()
	if !b.port(pos, "output", name) || !b.usable(pos, "output", t) {
		return
	}
	if b.core.stage.Tensor(t.ref).Elem != ir.Activation || t.kind() == freeKind {
		b.core.mistake(pos, "output", fmt.Sprintf("%s is a parameter or state, not a value", name), "read parameters and buffers by their names")
		return
	}
	for _, in := range b.core.stage.Inputs {
		if in.Tensor == t.ref {
			b.core.mistake(pos, "output", fmt.Sprintf("%s is the input %s itself", name, in.Name), "let the caller use its own tensor")
			return
		}
	}
	for _, out := range b.core.stage.Outputs {
		if out.Tensor == t.ref {
			b.core.mistake(pos, "output", fmt.Sprintf("%s is the same tensor as the output %s", name, out.Name), "declare it once")
			return
		}
	}
	port := ir.Port{Name: name, Tensor: t.ref, Pos: pos}
	for _, o := range options {
		o(&port)
	}
	b.core.used[t.ref] = true
	b.core.stage.Outputs = append(b.core.stage.Outputs, port)
}

// port checks the name of an input or output.
func (b *Builder) port(pos ir.Pos, op, name string) bool {
	if !b.core.checkName(op, name, pos) {
		return false
	}
	if before, taken := b.core.ports[name]; taken {
		b.core.mistake(pos, op, fmt.Sprintf("the name %s is taken by an input or output at %s", name, before), "choose another name")
		return false
	}
	b.core.ports[name] = pos
	return true
}

// finish reports what only the whole definition can show.
func (c *core) finish() {
	for _, in := range c.stage.Inputs {
		if !c.used[in.Tensor] {
			c.mistake(in.Pos, "input", fmt.Sprintf("%s is never used", in.Name), "use it or remove it")
		}
	}
	if len(c.stage.Outputs) == 0 && len(c.mistakes) == 0 {
		c.mistake(c.def.pos, "define", "the stage has no output", "declare at least one with Builder.Output")
	}
	if len(c.stage.Inputs) == 0 && len(c.mistakes) == 0 {
		c.mistake(c.def.pos, "define", "the stage has no input", "declare at least one with Builder.Input")
	}
}
