package host

import "sort"

const (
	maxRank     = 6    // dimensions of a tensor
	maxOperands = 10   // tensors that one walk moves over
	pieceLength = 512  // elements that one step of a walk hands out at most
	taskLength  = 8192 // elements that make a task worth a worker
)

// loops walks several tensors of one shape together. Neighbouring dimensions
// are merged where every tensor allows it, so that a walk over contiguous
// memory has long pieces whatever the number of dimensions.
type loops struct {
	sizes    []int   // of the outer dimensions
	strides  [][]int // by outer dimension, then by operand
	inner    int     // size of the innermost dimension
	steps    []int   // strides of the innermost dimension, by operand
	pieces   int     // pieces that the innermost dimension is cut into
	segments int     // pieces of the whole walk
	perTask  int     // pieces of a task
}

// walkLogical goes through the elements in row-major order of the shape.
// strides holds one list per operand.
func walkLogical(shape []int, strides ...[]int) *loops {
	l := &loops{}
	l.merge(shape, strides, identity(len(shape)))
	l.cut()
	return l
}

// walkMemory goes through the elements in the order in which the last operand
// holds them.
func walkMemory(shape []int, strides ...[]int) *loops {
	order := identity(len(shape))
	last := strides[len(strides)-1]
	sort.SliceStable(order, func(i, j int) bool { return last[order[i]] > last[order[j]] })
	l := &loops{}
	l.merge(shape, strides, order)
	l.cut()
	return l
}

func identity(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// merge lists the dimensions in the given order, joining each to the one
// before it when all operands step evenly over both.
func (l *loops) merge(shape []int, strides [][]int, order []int) {
	for _, d := range order {
		if shape[d] == 1 {
			continue
		}
		here := make([]int, len(strides))
		for k := range strides {
			here[k] = strides[k][d]
		}
		if last := len(l.sizes) - 1; last >= 0 && even(l.strides[last], here, shape[d]) {
			l.sizes[last] *= shape[d]
			l.strides[last] = here
			continue
		}
		l.sizes = append(l.sizes, shape[d])
		l.strides = append(l.strides, here)
	}
	if len(l.sizes) == 0 {
		l.sizes, l.strides = []int{1}, [][]int{make([]int, len(strides))}
		for k := range l.strides[0] {
			l.strides[0][k] = 1
		}
	}
	last := len(l.sizes) - 1
	l.inner, l.steps = l.sizes[last], l.strides[last]
	l.sizes, l.strides = l.sizes[:last], l.strides[:last]
}

func even(outer, inner []int, size int) bool {
	for k := range outer {
		if outer[k] != inner[k]*size {
			return false
		}
	}
	return true
}

func (l *loops) cut() {
	l.pieces = (l.inner + pieceLength - 1) / pieceLength
	l.segments = l.pieces
	for _, s := range l.sizes {
		l.segments *= s
	}
	l.perTask = max(1, taskLength/min(l.inner, pieceLength))
}

// tasks is the number of tasks of the walk.
func (l *loops) tasks() int { return (l.segments + l.perTask - 1) / l.perTask }

// cursor is the position of a walk inside a task.
type cursor struct {
	walk  *loops
	left  int // pieces to come
	piece int // of the innermost dimension
	index [maxRank]int
	base  [maxOperands]int // offsets of the current row

	n        int              // elements of the current piece
	position int              // of its first element in the walk
	offset   [maxOperands]int // of its first element in each operand
}

// start returns a cursor before the first piece of a task.
func (l *loops) start(task int) cursor {
	first := task * l.perTask
	c := cursor{walk: l, left: min(l.perTask, l.segments-first), piece: first%l.pieces - 1}
	row := first / l.pieces
	c.position = row * l.inner
	for d := len(l.sizes) - 1; d >= 0; d-- {
		c.index[d] = row % l.sizes[d]
		row /= l.sizes[d]
		for k, s := range l.strides[d] {
			c.base[k] += c.index[d] * s
		}
	}
	c.position += (c.piece + 1) * pieceLength
	return c
}

// next moves to the next piece; it is false at the end of the task.
func (c *cursor) next() bool {
	if c.left == 0 {
		return false
	}
	c.left--
	c.position += c.n
	l := c.walk
	if c.piece++; c.piece == l.pieces {
		c.piece = 0
		c.advance()
	}
	at := c.piece * pieceLength
	c.n = min(pieceLength, l.inner-at)
	for k, step := range l.steps {
		c.offset[k] = c.base[k] + at*step
	}
	return true
}

// advance moves to the next row.
func (c *cursor) advance() {
	l := c.walk
	for d := len(l.sizes) - 1; d >= 0; d-- {
		strides := l.strides[d]
		if c.index[d]++; c.index[d] < l.sizes[d] {
			for k, s := range strides {
				c.base[k] += s
			}
			return
		}
		c.index[d] = 0
		for k, s := range strides {
			c.base[k] -= (l.sizes[d] - 1) * s
		}
	}
}
