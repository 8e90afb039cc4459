package stage

import (
	"fmt"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Builder records the operations of one stage. Scope gives a Builder whose
// parameters and operations have longer names; all share one stage.
type Builder struct {
	core  *core
	scope string
}

// core is the state that all Builders of one run share.
type core struct {
	def      *Definition
	stage    *ir.Stage
	mistakes Mistakes

	names  map[string]ir.Pos // state entries: parameters and buffers
	ports  map[string]ir.Pos // inputs and outputs
	counts map[string]int    // how often an operation name was asked for
	used   map[ir.Ref]bool   // tensors that some operation or output reads
	kinds  map[ir.Ref]kind
}

func newCore(d *Definition) *core {
	return &core{
		def: d,
		stage: &ir.Stage{
			Format:   ir.FormatVersion,
			Name:     d.name,
			Multiple: ir.Multiple{Height: 1, Width: 1},
			Pos:      d.pos,
		},
		names:  map[string]ir.Pos{},
		ports:  map[string]ir.Pos{},
		counts: map[string]int{},
		used:   map[ir.Ref]bool{},
		kinds:  map[ir.Ref]kind{},
	}
}

// Scope gives a Builder for a part of the network: its names start with the
// given ones, joined by dots, for example Scope("head", "o2m").
func (b *Builder) Scope(names ...string) *Builder {
	for _, n := range names {
		for _, part := range strings.Split(n, ".") {
			b.core.checkName("scope", part, author())
		}
	}
	return &Builder{core: b.core, scope: join(append([]string{b.scope}, names...)...)}
}

// Multiple declares that heights and widths are multiples of pixels, which
// is what strided operations need to halve them. It comes before the inputs.
func (b *Builder) Multiple(pixels int) {
	pos := author()
	if pixels < 1 {
		b.core.mistake(pos, "multiple", fmt.Sprintf("%d is not a number of pixels", pixels), "use 1 or more")
		return
	}
	if len(b.core.stage.Inputs) > 0 {
		b.core.mistake(pos, "multiple", "it comes after an input", "declare it first")
		return
	}
	b.core.stage.Multiple = ir.Multiple{Height: pixels, Width: pixels}
}

func join(parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ".")
}

func (c *core) mistake(pos ir.Pos, op, problem, remedy string) {
	c.mistakes = append(c.mistakes, Mistake{Pos: pos, Stage: c.def.name, Op: op, Problem: problem, Remedy: remedy})
}

// opName makes the name of an operation: the scope and its role, numbered
// from the second on.
func (b *Builder) opName(role string) string {
	name := join(b.scope, role)
	b.core.counts[name]++
	if n := b.core.counts[name]; n > 1 {
		return fmt.Sprintf("%s.%d", name, n)
	}
	return name
}

// value adds an activation that an operation gives.
func (b *Builder) value(name string, k kind, shape []ir.Dim) ir.Ref {
	ref := b.core.stage.AddTensor(ir.Tensor{Name: name, Shape: shape, Elem: ir.Activation, Map: k == mapKind})
	b.core.kinds[ref] = k
	return ref
}

// record appends an operation and marks what it reads.
func (b *Builder) record(pos ir.Pos, name string, mode ir.Mode, kernel ir.Kernel) {
	op := ir.Op{Name: name, Mode: mode, Do: kernel, Pos: pos}
	for _, r := range op.Reads() {
		b.core.used[r] = true
	}
	b.core.stage.Forward = append(b.core.stage.Forward, op)
}

// unary records an operation with one input and one output of kind k.
func (b *Builder) unary(pos ir.Pos, role string, x Tensor, k kind, shape []ir.Dim, kernel func(x, y ir.Ref) ir.Kernel) Tensor {
	name := b.opName(role)
	y := b.value(name, k, shape)
	b.record(pos, name, ir.Always, kernel(x.ref, y))
	return Tensor{core: b.core, ref: y}
}

// usable tells whether all tensors can be used in an operation. Tensors that
// come from an earlier mistake are passed over silently: one mistake is
// reported once.
func (b *Builder) usable(pos ir.Pos, op string, tensors ...Tensor) bool {
	fine := true
	for _, t := range tensors {
		switch {
		case t.core == nil && t.ref == 0:
			b.core.mistake(pos, op, "an operand was never given a value", "pass a tensor that this Builder made")
			fine = false
		case t.core != b.core:
			b.core.mistake(pos, op, "an operand belongs to another stage or to another run of this definition (hidden state)", "make it a declared input, or build it in this function")
			fine = false
		case t.ref == 0:
			fine = false
		default:
			b.core.used[t.ref] = true // also if the operation turns out to be mistaken
		}
	}
	return fine
}

// failed is the tensor that stands for the result of a mistaken operation.
func (b *Builder) failed() Tensor { return Tensor{core: b.core} }
