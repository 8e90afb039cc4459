package host

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// anySize stands for a size that an operand's shape is not checked for.
const anySize = -1

// binder prepares launches: it finds operands, checks their shapes, and hands
// out scratch. The first problem of an operation is kept in err; after it,
// operands are empty views of the demanded rank.
type binder[T device.Float] struct {
	plan  *ir.Stage
	views views[T]
	work  *workspace[T]

	op  *ir.Op
	err error
}

// launch prepares one operation.
func (b *binder[T]) launch(op *ir.Op) (launch, error) {
	b.op, b.err = op, nil
	b.work.begin()
	l := b.kernel(op.Do)
	return l, b.err
}

// fail keeps the first problem of the operation.
func (b *binder[T]) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("%s: %s %s of stage %s: %s", b.op.Pos, b.op.Do.Kind(), b.op.Name, b.plan.Name, fmt.Sprintf(format, args...))
	}
}

// check fails unless the condition holds; it returns whether all is well so far.
func (b *binder[T]) check(condition bool, format string, args ...any) bool {
	if !condition {
		b.fail(format, args...)
	}
	return b.err == nil
}

// float finds a float operand of the given shape.
func (b *binder[T]) float(role string, ref ir.Ref, shape ...int) view[T] {
	return operand(b, b.views.floats, "float", role, ref, shape)
}

// optional is float for operands that may be absent: a view without data.
func (b *binder[T]) optional(role string, ref ir.Ref, shape ...int) view[T] {
	if ref == 0 {
		return view[T]{}
	}
	return b.float(role, ref, shape...)
}

// index finds an int32 operand of the given shape.
func (b *binder[T]) index(role string, ref ir.Ref, shape ...int) view[int32] {
	return operand(b, b.views.indices, "index", role, ref, shape)
}

// counter finds an int64 operand of n elements in any shape.
func (b *binder[T]) counter(role string, ref ir.Ref, n int) []int64 {
	v := anyShape(b, b.views.counters, "counter", role, ref)
	if b.check(v.elements() == n && v.rowMajor(), "%s has shape %v; %d adjacent counters are needed", role, v.shape, n) {
		return v.data[:n]
	}
	return make([]int64, n)
}

// tensor finds a float operand of any shape.
func (b *binder[T]) tensor(role string, ref ir.Ref) view[T] {
	return anyShape(b, b.views.floats, "float", role, ref)
}

// like finds a float operand of the same shape as v.
func (b *binder[T]) like(v view[T], role string, ref ir.Ref) view[T] {
	return b.float(role, ref, v.shape...)
}

func anyShape[T device.Float, E element](b *binder[T], views []view[E], kind, role string, ref ir.Ref) view[E] {
	if !b.check(ref > 0 && int(ref) <= len(views), "operand %s is missing", role) ||
		!b.check(views[ref-1].data != nil, "operand %s is no %s tensor with memory", role, kind) {
		return view[E]{}
	}
	return views[ref-1]
}

func operand[T device.Float, E element](b *binder[T], views []view[E], kind, role string, ref ir.Ref, shape []int) view[E] {
	none := view[E]{shape: make([]int, len(shape)), strides: make([]int, len(shape))}
	v := anyShape(b, views, kind, role, ref)
	if b.err != nil {
		return none
	}
	ok := len(v.shape) == len(shape)
	for i := 0; ok && i < len(shape); i++ {
		ok = shape[i] == anySize || shape[i] == v.shape[i]
	}
	if !b.check(ok, "operand %s has shape %v, not %v", role, v.shape, shape) {
		return none
	}
	return v
}
