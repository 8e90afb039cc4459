package host

import "github.com/reprise-ml/reprise/gen/ir"

// add prepares Y = A + B.
func (b *binder[T]) add(k *ir.Add) launch {
	y := b.tensor("y", k.Y)
	return b.rowwise(false, func(r [][]T, _ []T) {
		out := r[2]
		left, right := r[0][:len(out)], r[1][:len(out)]
		for i := range out {
			out[i] = left[i] + right[i]
		}
	}, b.like(y, "a", k.A), b.like(y, "b", k.B), y)
}

// multiply prepares Y (+)= A * B.
func (b *binder[T]) multiply(k *ir.Multiply) launch {
	y := b.tensor("y", k.Y)
	return b.rowwise(k.Accumulate, func(r [][]T, _ []T) {
		out := r[2]
		left, right := r[0][:len(out)], r[1][:len(out)]
		for i := range out {
			out[i] = left[i] * right[i]
		}
	}, b.like(y, "a", k.A), b.like(y, "b", k.B), y)
}

// scale prepares Y (+)= Factor * X.
func (b *binder[T]) scale(k *ir.Scale) launch {
	y := b.tensor("y", k.Y)
	factor := T(k.Factor)
	return b.rowwise(k.Accumulate, func(r [][]T, _ []T) {
		out := r[1]
		in := r[0][:len(out)]
		for i := range out {
			out[i] = factor * in[i]
		}
	}, b.like(y, "x", k.X), y)
}

// copy prepares Y (+)= X.
func (b *binder[T]) copy(k *ir.Copy) launch {
	y := b.tensor("y", k.Y)
	return b.rowwise(k.Accumulate, func(r [][]T, _ []T) { copy(r[1], r[0]) }, b.like(y, "x", k.X), y)
}

// fill prepares Y = Value.
func (b *binder[T]) fill(k *ir.Fill) launch {
	return b.set(b.tensor("y", k.Y), T(k.Value))
}

// set prepares y = value.
func (b *binder[T]) set(y view[T], value T) launch {
	return b.rowwise(false, func(r [][]T, _ []T) {
		for i := range r[0] {
			r[0][i] = value
		}
	}, y)
}
