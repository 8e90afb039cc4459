package templates

import (
	"errors"
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

const (
	attentionRows    = 64 // positions that a block makes results of
	attentionRowSums = 32 // rows of a block of attention_row_sums
)

// attentionShape is what the kernels of attention know of their operands.
type attentionShape struct {
	key, value    int // widths
	queries, keys ir.Dim
	batch         [2]ir.Dim
	plain         bool // elements of positions lie side by side, eight of them aligned
	fields        []field
}

// attentionOperand is one operand with the shape that it must have.
type attentionOperand struct {
	name      string
	ref       ir.Ref
	transpose bool
	count     *ir.Dim
	width     *int
}

// attentionShape checks operands, of which the first is q; those that are absent are
// left out.
func (b *builder) attentionShape(operands []attentionOperand, s *attentionShape) error {
	s.plain = true
	for _, o := range operands {
		if o.ref == 0 {
			continue
		}
		if err := b.need(ir.Activation, o.ref); err != nil {
			return err
		}
		m, err := b.matrices(o.ref, o.transpose)
		if err != nil {
			return err
		}
		if !s.takes(m, o) {
			return fmt.Errorf("%s has shape %s, which does not go with the other operands", b.stage.Tensor(o.ref).Name, ir.ShapeText(b.stage.Tensor(o.ref).Shape))
		}
		s.plain = s.plain && *o.width%8 == 0 && isOne(m.stride[3]) && b.aligned(o.ref, m, 3, 8)
		s.fields = append(s.fields, field{o.name, b.matrixText(o.ref, m)})
	}
	if s.key > ir.MaxKeyWidth || s.value > ir.MaxValueWidth {
		return fmt.Errorf("keys of width %d and values of width %d; at most %d and %d are served", s.key, s.value, ir.MaxKeyWidth, ir.MaxValueWidth)
	}
	return nil
}

// takes tells whether an operand has the shape that those before ask for; the first
// of its kind gives the shape.
func (s *attentionShape) takes(m matrices, o attentionOperand) bool {
	width, ok := m.extent[3].Constant()
	if len(s.fields) == 0 {
		s.batch = [2]ir.Dim{m.extent[0], m.extent[1]}
	}
	if *o.width == 0 {
		*o.width = width
	}
	if o.count.Equal(ir.Dim{}) {
		*o.count = m.extent[2]
	}
	return ok && width == *o.width && m.extent[2].Equal(*o.count) && m.extent[0].Equal(s.batch[0]) && m.extent[1].Equal(s.batch[1])
}

// arguments are the launch arguments, with the logarithms of sums.
func (s *attentionShape) arguments(b *builder, logSum ir.Ref) ([]field, error) {
	if err := b.need(ir.Master, logSum); err != nil {
		return nil, err
	}
	if err := b.contiguous(logSum); err != nil {
		return nil, err
	}
	if n := s.batch[0].Mul(s.batch[1]).Mul(s.queries); !ir.Elements(b.stage.Tensor(logSum).Shape).Equal(n) {
		return nil, fmt.Errorf("%s has shape %s, not %s elements", b.stage.Tensor(logSum).Name, ir.ShapeText(b.stage.Tensor(logSum).Shape), n)
	}
	return append(s.fields, field{"log_sum", b.address(logSum)}, field{"inner", "(int32_t)(" + dimText(s.batch[1]) + ")"},
		field{"queries", "(int32_t)(" + dimText(s.queries) + ")"}, field{"keys", "(int32_t)(" + dimText(s.keys) + ")"}), nil
}

// matrices is the number of matrices of each operand.
func (s *attentionShape) matrices() Expr { return Size(s.batch[0].Mul(s.batch[1])) }

// attentionTile holds the constants of a kernel that walks over columns.
type attentionTile struct {
	groups int // groups of four warps that share the columns
	step   int // columns that a group takes of a stage
	part   int // columns that a warp takes at a time
	stages int // of the ring
	shared int // bytes
}

// attentionTile makes the ring as long as memory allows; values is the number of
// sums that each lane hands over.
func (s *attentionShape) attentionTile(groups, part, values int) attentionTile {
	up := func(width int) int { return (width + 15) / 16 * 16 }
	for _, step := range []int{32, 16} {
		stage := bytes16(groups*step, up(s.key)) + bytes16(groups*step, up(s.value))
		if stages := min(4, dynamicBytes/stage); stages > 1 || step == 16 {
			return attentionTile{groups, step, min(part, step), stages, max(stages*stage, 4*128*values)}
		}
	}
	return attentionTile{}
}

// attention: grid queries/64, 1, batch; block 512.
func (b *builder) attention(k *ir.Attention) error {
	var s attentionShape
	err := b.attentionShape([]attentionOperand{
		{"q", k.Q, k.TransposeQ, &s.queries, &s.key}, {"k", k.K, k.TransposeK, &s.keys, &s.key},
		{"v", k.V, k.TransposeV, &s.keys, &s.value}, {"y", k.Y, k.TransposeY, &s.queries, &s.value},
	}, &s)
	if err != nil {
		return err
	}
	fields, err := s.arguments(b, k.LogSum)
	if err != nil {
		return err
	}
	t := s.attentionTile(4, 32, (s.value+15)/16*8+4)
	b.shared = t.shared
	grid := [3]Expr{Ceiling(Size(s.queries), Number(attentionRows)), Number(1), s.matrices()}
	b.add("attention", "attention", "attention", 128*t.groups, grid, Expr{}, fields,
		"element", "index_t", s.key, s.value, s.plain, t.groups, t.step, t.part, t.stages, t.shared, Bits(k.Alpha))
	return nil
}

// attentionGradient has two launches:
//
//	kernel               grid                                           block  scratch
//	attention_row_sums   queries/32, 1, batch                           256    batch * queries * 8
//	attention_gradients  keys/64 (dK, dV) + queries/64 (dQ), 1, batch   256
func (b *builder) attentionGradient(k *ir.AttentionGradient) error {
	var s attentionShape
	err := b.attentionShape([]attentionOperand{
		{"q", k.Q, k.TransposeQ, &s.queries, &s.key}, {"k", k.K, k.TransposeK, &s.keys, &s.key},
		{"v", k.V, k.TransposeV, &s.keys, &s.value}, {"y", k.Y, k.TransposeY, &s.queries, &s.value}, {"dy", k.DY, k.TransposeY, &s.queries, &s.value},
		{"dq", k.DQ, k.TransposeQ, &s.queries, &s.key}, {"dk", k.DK, k.TransposeK, &s.keys, &s.key}, {"dv", k.DV, k.TransposeV, &s.keys, &s.value},
	}, &s)
	if err != nil {
		return err
	}
	fields, err := s.arguments(b, k.LogSum)
	if err != nil {
		return err
	}
	queries, keys := Ceiling(Size(s.queries), Number(attentionRows)), Ceiling(Size(s.keys), Number(attentionRows))
	padded := Times(queries, Number(attentionRows))
	fields = append(fields, field{"row_sums", "c->scratch[lane]"}, field{"padded", "(int32_t)(" + padded.C() + ")"})
	b.add("attention_gradients", "attention_row_sums", "attention", 256, [3]Expr{Ceiling(padded, Number(attentionRowSums)), Number(1), s.matrices()}, Times(s.matrices(), padded, Number(8)), fields,
		"element", "index_t", s.value, s.plain)
	var blocks []Expr
	if k.DK != 0 || k.DV != 0 {
		blocks = append(blocks, keys)
	}
	if k.DQ != 0 {
		blocks = append(blocks, queries)
	}
	if blocks == nil {
		return errors.New("no gradient is wanted")
	}
	t := s.attentionTile(2, 16, (max(s.key, s.value)+15)/16*8)
	b.shared = t.shared
	if s.key <= 32 && s.value <= 64 {
		b.blocks = 2
	}
	b.add("attention_gradients", "attention_gradients", "attention", 128*t.groups, [3]Expr{Sum(blocks...), Number(1), s.matrices()}, Expr{}, fields,
		"element", "index_t", s.key, s.value, s.plain, t.groups, t.step, t.part, t.stages, t.shared, Bits(k.Alpha),
		use(k.DQ, k.AccumulateQ), use(k.DK, k.AccumulateK), use(k.DV, k.AccumulateV))
	return nil
}

// use says how a gradient is written.
func use(gradient ir.Ref, accumulate bool) string {
	switch {
	case gradient == 0:
		return "unwanted"
	case accumulate:
		return "added"
	}
	return "written"
}
