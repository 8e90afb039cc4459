package pass

import (
	"fmt"
	"math/bits"

	"github.com/reprise-ml/reprise/gen/ir"
)

// regions answers which elements of a storage a tensor covers. It works at
// small reference sizes: how views lie to one another does not depend on the
// sizes, because every view is a range of rows and channels.
type regions struct {
	stage *ir.Stage
	sizes ir.Sizes
	cache map[ir.Ref]bitset
}

// maxRegion bounds the elements of one storage at the reference sizes.
const maxRegion = 1 << 26

func newRegions(s *ir.Stage) *regions {
	return &regions{
		stage: s,
		sizes: ir.Sizes{Batch: 1, Height: 2 * max(s.Multiple.Height, 1), Width: 3 * max(s.Multiple.Width, 1)},
		cache: map[ir.Ref]bitset{},
	}
}

// of gives the elements that a tensor covers in its storage.
func (r *regions) of(ref ir.Ref) (bitset, error) {
	if b, ok := r.cache[ref]; ok {
		return b, nil
	}
	b, err := r.view(r.stage.Tensor(ref))
	if err == nil {
		r.cache[ref] = b
	}
	return b, err
}

// view is of for a tensor that need not belong to the stage.
func (r *regions) view(t *ir.Tensor) (bitset, error) {
	size, err := r.stage.Storage(t.Storage).Size.Eval(r.sizes)
	if err != nil {
		return nil, err
	}
	if size > maxRegion {
		return nil, fmt.Errorf("%s has %d elements at %s; too large to plan", t.Name, size, r.sizes)
	}
	b := newBitset(size)
	shape, strides := make([]int, len(t.Shape)), make([]int, len(t.Shape))
	for i := range t.Shape {
		if shape[i], err = t.Shape[i].Eval(r.sizes); err != nil {
			return nil, err
		}
		if strides[i], err = t.Strides[i].Eval(r.sizes); err != nil {
			return nil, err
		}
	}
	offset, err := t.Offset.Eval(r.sizes)
	if err != nil {
		return nil, err
	}
	if !b.mark(offset, shape, strides) {
		return nil, fmt.Errorf("%s reaches outside its storage %s", t.Name, r.stage.Storage(t.Storage).Name)
	}
	return b, nil
}

type bitset []uint64

func newBitset(size int) bitset { return make(bitset, (size+63)/64) }

// mark sets the elements of a strided view; false if one lies outside.
func (b bitset) mark(offset int, shape, strides []int) bool {
	if len(shape) == 0 {
		if offset < 0 || offset >= len(b)*64 {
			return false
		}
		b[offset/64] |= 1 << (offset % 64)
		return true
	}
	if len(shape) == 1 && strides[0] == 1 {
		return b.run(offset, shape[0])
	}
	for range shape[0] {
		if !b.mark(offset, shape[1:], strides[1:]) {
			return false
		}
		offset += strides[0]
	}
	return true
}

// run sets n adjacent elements, whole words at a time; false if one lies outside.
func (b bitset) run(offset, n int) bool {
	if offset < 0 || offset+n > len(b)*64 {
		return false
	}
	for n > 0 {
		bit := offset % 64
		length := min(n, 64-bit)
		b[offset/64] |= ^uint64(0) >> (64 - length) << bit
		offset, n = offset+length, n-length
	}
	return true
}

// meets counts the elements that two sets share.
func (b bitset) meets(o bitset) int {
	n := 0
	for i := range b {
		n += bits.OnesCount64(b[i] & o[i])
	}
	return n
}

func (b bitset) add(o bitset) {
	for i := range b {
		b[i] |= o[i]
	}
}

// covers tells whether every element of o is in b.
func (b bitset) covers(o bitset) bool {
	for i := range b {
		if o[i]&^b[i] != 0 {
			return false
		}
	}
	return true
}
