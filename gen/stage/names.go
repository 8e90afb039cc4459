package stage

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

var (
	validName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`)
	maxName   = 120
)

// reserved are names that belong to the generator: the prefix of every symbol
// it writes and the file that lists what it wrote.
var reserved = []string{"reprise", "manifest"}

// checkName reports a name that cannot be written to files and symbols.
func (c *core) checkName(op, name string, pos ir.Pos) bool {
	lower := strings.ToLower(name)
	switch {
	case !validName.MatchString(name):
		c.mistake(pos, op, fmt.Sprintf("%q is not a name", name), "use letters, digits, '_', '-' and '.', beginning and ending with a letter, digit or '_'")
	case len(name) > maxName:
		c.mistake(pos, op, fmt.Sprintf("the name %.20s… has %d characters", name, len(name)), fmt.Sprintf("use at most %d", maxName))
	case lower == reserved[1] || strings.HasPrefix(lower, reserved[0]):
		c.mistake(pos, op, fmt.Sprintf("%q is a reserved word", name), "choose another name; names that begin with reprise, and manifest, belong to the generator")
	default:
		return true
	}
	return false
}

// entry makes the name of a state entry and reports a second use of it.
func (b *Builder) entry(pos ir.Pos, op, name string) (string, bool) {
	full := join(b.scope, name)
	if !b.core.checkName(op, full, pos) {
		return "", false
	}
	if before, taken := b.core.names[full]; taken {
		b.core.mistake(pos, op, fmt.Sprintf("the state entry %s exists already, from %s", full, before), "give this unit its own Scope")
		return "", false
	}
	b.core.names[full] = pos
	return full, true
}

// parameter adds a trainable tensor; ok is false after a mistake.
func (b *Builder) parameter(pos ir.Pos, op, name string, shape []int, init ir.Initialise) (ir.Ref, bool) {
	full, ok := b.entry(pos, op, name)
	if !ok {
		return 0, false
	}
	ref := b.core.stage.AddTensor(ir.Tensor{Name: full, Shape: dims(shape), Elem: ir.Master})
	b.core.kinds[ref] = freeKind
	b.core.stage.Parameters = append(b.core.stage.Parameters, ir.Parameter{Name: full, Shape: shape, Tensor: ref, Init: init, Pos: pos})
	return ref, true
}

// buffer adds state that the forward pass updates.
func (b *Builder) buffer(pos ir.Pos, op string, buffer ir.Buffer) (ir.Ref, bool) {
	full, ok := b.entry(pos, op, buffer.Name)
	if !ok {
		return 0, false
	}
	buffer.Name, buffer.Pos = full, pos
	buffer.Tensor = b.core.stage.AddTensor(ir.Tensor{Name: full, Shape: dims(buffer.Shape), Elem: buffer.Elem})
	b.core.stage.Buffers = append(b.core.stage.Buffers, buffer)
	return buffer.Tensor, true
}

func dims(shape []int) []ir.Dim {
	out := make([]ir.Dim, len(shape))
	for i, v := range shape {
		out[i] = ir.Const(v)
	}
	return out
}
