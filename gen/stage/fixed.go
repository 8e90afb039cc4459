package stage

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// FixedInput declares a tensor that the caller provides and whose sizes are
// numbers, whatever the batch: a vector (N, C), or rows (M, R, C), which are M
// matrices.
func (b *Builder) FixedInput(name string, sizes ...int) Tensor {
	k, known := map[int]kind{2: vectorKind, 3: rowsKind}[len(sizes)]
	pos := author()
	if !known {
		b.core.mistake(pos, "input", fmt.Sprintf("%s has %d fixed sizes", name, len(sizes)), "declare (N, C) or (M, R, C)")
		return b.failed()
	}
	return b.fixed(pos, name, k, sizes)
}

// Scalar declares one number that the caller provides, such as a learning rate.
// It lies in memory and is read whenever the stage runs, natively or replayed.
func (b *Builder) Scalar(name string) Tensor { return b.fixed(author(), name, scalarKind, []int{1}) }

func (b *Builder) fixed(pos ir.Pos, name string, k kind, sizes []int) Tensor {
	if !b.port(pos, "input", name) {
		return b.failed()
	}
	for _, s := range sizes {
		if s < 1 {
			b.core.mistake(pos, "input", fmt.Sprintf("%s has a size of %d", name, s), "use sizes of 1 or more")
			return b.failed()
		}
	}
	ref := b.value(name, k, dims(sizes))
	b.core.stage.Inputs = append(b.core.stage.Inputs, ir.Port{Name: name, Tensor: ref, Pos: pos})
	return Tensor{core: b.core, ref: ref}
}
