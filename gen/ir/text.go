package ir

import (
	"fmt"
	"reflect"
	"strings"
)

// Text prints a stage for people: one operation per line with the names and
// shapes of its operands. It is what -dump writes after each pass.
func Text(s *Stage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "stage %s\n", s.Name)
	for _, p := range s.Inputs {
		fmt.Fprintf(&b, "input %s %s\n", p.Name, s.operand(p.Tensor))
	}
	for _, p := range s.Parameters {
		fmt.Fprintf(&b, "parameter %s %s\n", p.Name, s.operand(p.Tensor))
	}
	for _, p := range s.Buffers {
		fmt.Fprintf(&b, "buffer %s %s\n", p.Name, s.operand(p.Tensor))
	}
	b.WriteString("forward\n")
	s.ops(&b, s.Forward)
	for _, p := range s.Outputs {
		fmt.Fprintf(&b, "output %s %s\n", p.Name, s.operand(p.Tensor))
	}
	for _, p := range s.Backward {
		fmt.Fprintf(&b, "backward %s\n", strings.Join(p.Present, " "))
		s.ops(&b, p.Ops)
	}
	return b.String()
}

func (s *Stage) ops(b *strings.Builder, ops []Op) {
	for i := range ops {
		op := &ops[i]
		fmt.Fprintf(b, "  %4d %s %s", i, op.Do.Kind(), op.Name)
		if op.Mode != Always {
			fmt.Fprintf(b, " [%s]", op.Mode)
		}
		op.Do.Operands(func(role string, ref *Ref, access Access) {
			if *ref != 0 {
				fmt.Fprintf(b, "\n         %s %s %s", []string{"<-", "->", "<>"}[access], role, s.operand(*ref))
			}
		})
		if constants := constantsText(op.Do); constants != "" {
			fmt.Fprintf(b, "\n         %s", constants)
		}
		if op.Lane != 0 || len(op.Wait) > 0 {
			fmt.Fprintf(b, "\n         lane %d after %v", op.Lane, op.Wait)
		}
		b.WriteByte('\n')
	}
}

// operand prints a tensor with its place in memory, once it has one.
func (s *Stage) operand(ref Ref) string {
	t := s.Tensor(ref)
	text := fmt.Sprintf("%s %s", t.Name, ShapeText(t.Shape))
	if t.Storage == 0 {
		return text
	}
	storage := s.Storage(t.Storage)
	text += fmt.Sprintf(" in %s", storage.Space)
	if storage.Space == Arena {
		text += fmt.Sprintf(" from %d to %d", storage.Place.From, storage.Place.To)
	}
	if storage.Name != t.Name {
		text += fmt.Sprintf(" of %s at %s", storage.Name, t.Offset)
	}
	return text
}

// constantsText prints the constants of a kernel: its fields that are not
// tensors, in the order of the struct.
func constantsText(k Kernel) string {
	v := reflect.ValueOf(k).Elem()
	var parts []string
	for i := range v.NumField() {
		switch v.Field(i).Interface().(type) {
		case Ref, []Ref:
			continue
		}
		if v.Field(i).IsZero() {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s=%v", strings.ToLower(v.Type().Field(i).Name), v.Field(i).Interface()))
	}
	return strings.Join(parts, " ")
}
