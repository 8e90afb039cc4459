package host

import (
	"gonum.org/v1/gonum/blas"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// productWidth bounds the columns of one block of a product: still few enough
// for the library to compute it on the calling goroutine, and wide enough for
// its loops over rows.
const productWidth = 3 * gemmBlock

// matrix is a two-dimensional view.
type matrix[E device.Float] struct {
	data                    []E
	rows, columns           int
	rowStride, columnStride int
}

func (m matrix[E]) transposed() matrix[E] {
	return matrix[E]{m.data, m.columns, m.rows, m.columnStride, m.rowStride}
}

// block is the part of m from row i and column j.
func (m matrix[E]) block(i, j, rows, columns int) matrix[E] {
	return matrix[E]{m.data[i*m.rowStride+j*m.columnStride:], rows, columns, m.rowStride, m.columnStride}
}

// matMul prepares Y (+)= Alpha * op(A) op(B) (+ Bias) for every combination of
// the leading dimensions. A task is a block of one product.
func (b *binder[T]) matMul(k *ir.MatMul) launch {
	y := b.tensor("y", k.Y)
	rank := len(y.shape)
	a, right := b.tensor("a", k.A), b.tensor("b", k.B)
	if !b.check(rank >= 2 && len(a.shape) == rank && len(right.shape) == rank, "a has %d, b %d and y %d dimensions; all need the same number, at least 2", len(a.shape), len(right.shape), rank) {
		return nil
	}
	rows, columns := y.shape[rank-2], y.shape[rank-1]
	inner := a.shape[rank-1]
	if k.TransposeA {
		inner = a.shape[rank-2]
	}
	lead := y.shape[:rank-2]
	a = b.float("a", k.A, matrixShape(lead, rows, inner, k.TransposeA)...)
	right = b.float("b", k.B, matrixShape(lead, inner, columns, k.TransposeB)...)
	bias := b.optional("bias", k.Bias, columns)
	if b.err != nil {
		return nil
	}
	p := &products[T]{a: a, b: right, y: y, transA: k.TransposeA, transB: k.TransposeB, alpha: T(k.Alpha), accumulate: k.Accumulate, bias: bias, inner: inner}
	p.scratch = b.work.floats.take(b.work.workers * p.scratchSize())
	batch := 1
	for _, d := range lead {
		batch *= d
	}
	across := ceilDivide(columns, productWidth)
	down := ceilDivide(rows, gemmBlock)
	if k.A == k.B && k.TransposeA != k.TransposeB && k.Bias == 0 {
		upper := down * (down + 1) / 2
		return launch{{tasks: batch * upper, run: func(task, worker int) {
			i, j := upperBlock(task%upper, down)
			p.symmetricBlock(task/upper, i*gemmBlock, j*gemmBlock, worker)
		}}}
	}
	return launch{{tasks: batch * down * across, run: func(task, worker int) {
		p.block(task/(down*across), task/across%down*gemmBlock, task%across*productWidth, productWidth, worker)
	}}}
}

func matrixShape(lead []int, rows, columns int, transposed bool) []int {
	if transposed {
		rows, columns = columns, rows
	}
	return append(append([]int(nil), lead...), rows, columns)
}

// products is a batch of matrix products.
type products[T device.Float] struct {
	a, b, y        view[T]
	bias           view[T]
	transA, transB bool
	alpha          T
	accumulate     bool
	inner          int
	scratch        []T // by worker: a block of A, of B and of Y
}

func (p *products[T]) scratchSize() int {
	return (gemmBlock+productWidth)*p.inner + gemmBlock*productWidth
}

// at is matrix number i of a batch.
func at[E device.Float](v view[E], i int, transposed bool) matrix[E] {
	rank := len(v.shape)
	offset := 0
	for d := rank - 3; d >= 0; d-- {
		offset += i % v.shape[d] * v.strides[d]
		i /= v.shape[d]
	}
	m := matrix[E]{v.data[offset:], v.shape[rank-2], v.shape[rank-1], v.strides[rank-2], v.strides[rank-1]}
	if transposed {
		return m.transposed()
	}
	return m
}

// upperBlock is the row and column of a block on or above the diagonal of a
// square of n x n blocks, counted row by row.
func upperBlock(number, n int) (row, column int) {
	for number >= n-row {
		number -= n - row
		row++
	}
	return row, row + number
}

// symmetricBlock computes one block, on or above the diagonal, of the product of
// a matrix with its own transpose, and puts it below the diagonal too.
func (p *products[T]) symmetricBlock(batch, i, j, worker int) {
	if i == j {
		p.block(batch, i, j, gemmBlock, worker)
		return
	}
	a, b, y := at(p.a, batch, p.transA), at(p.b, batch, p.transB), at(p.y, batch, false)
	rows, columns := min(gemmBlock, y.rows-i), min(gemmBlock, y.columns-j)
	scratch := p.scratch[worker*p.scratchSize():]
	dataA, transA, lda := operandOf(a.block(i, 0, rows, p.inner), scratch)
	dataB, transB, ldb := operandOf(b.block(0, j, p.inner, columns), scratch[rows*p.inner:])
	tile := scratch[(rows+columns)*p.inner:]
	gemm(transA, transB, rows, columns, p.inner, p.alpha, dataA, lda, dataB, ldb, 0, tile, columns)
	putTile(y.block(i, j, rows, columns), tile, columns, p.accumulate)
	putTile(y.transposed().block(i, j, rows, columns), tile, columns, p.accumulate)
}

// putTile writes a tile to a block of a result, or adds it.
func putTile[E device.Float](y matrix[E], tile []E, ld int, accumulate bool) {
	for r := range y.rows {
		for c := range y.columns {
			out := &y.data[r*y.rowStride+c*y.columnStride]
			if accumulate {
				*out += tile[r*ld+c]
			} else {
				*out = tile[r*ld+c]
			}
		}
	}
}

// block computes one block of one product, from row i and column j on and at
// most width columns wide.
func (p *products[T]) block(batch, i, j, width, worker int) {
	a, b, y := at(p.a, batch, p.transA), at(p.b, batch, p.transB), at(p.y, batch, false)
	y = y.block(i, j, min(gemmBlock, y.rows-i), min(width, y.columns-j))
	a = a.block(i, 0, y.rows, p.inner)
	b = b.block(0, j, p.inner, y.columns)
	p.begin(y, j)
	if y.columnStride != 1 && y.rowStride == 1 {
		// The transposed product has adjacent columns.
		a, b, y = b.transposed(), a.transposed(), y.transposed()
	}
	scratch := p.scratch[worker*p.scratchSize():]
	dataA, transA, lda := operandOf(a, scratch)
	dataB, transB, ldb := operandOf(b, scratch[y.rows*p.inner:])
	ldy, direct := leading(y.rowStride, y.rows, y.columns)
	if direct && (y.columnStride == 1 || y.columns == 1) {
		p.add(transA, transB, y.rows, y.columns, dataA, lda, dataB, ldb, y.data, ldy)
		return
	}
	tile := scratch[(y.rows+y.columns)*p.inner:]
	gemm(transA, transB, y.rows, y.columns, p.inner, p.alpha, dataA, lda, dataB, ldb, 0, tile, y.columns)
	for r := range y.rows {
		for c := range y.columns {
			y.data[r*y.rowStride+c*y.columnStride] += tile[r*y.columns+c]
		}
	}
}

// add adds a product to a block of Y. Without transpositions the library goes
// through B once for every row of A, so a part of B that stays in the cache is
// used up before the next one; the order of every sum is the same.
func (p *products[T]) add(transA, transB blas.Transpose, m, n int, a []T, lda int, b []T, ldb int, y []T, ldy int) {
	depth := p.inner
	if transA == blas.NoTrans && transB == blas.NoTrans {
		depth = gemmBlock
	}
	for k := 0; k < p.inner; k += depth {
		size := min(depth, p.inner-k)
		partA, partB := a, b
		if k > 0 { // only without transpositions
			partA, partB = a[k:], b[k*ldb:]
		}
		gemm(transA, transB, m, n, size, p.alpha, partA, lda, partB, ldb, 1, y, ldy)
	}
}

// begin sets a block of Y, whose first column is j, to what the product is
// added to.
func (p *products[T]) begin(y matrix[T], j int) {
	if p.accumulate && p.bias.data == nil {
		return
	}
	for r := range y.rows {
		for c := range y.columns {
			out := &y.data[r*y.rowStride+c*y.columnStride]
			if !p.accumulate {
				*out = 0
			}
			if p.bias.data != nil {
				*out += p.bias.data[(j+c)*p.bias.strides[0]]
			}
		}
	}
}

// operandOf describes a matrix to gemm, as a copy in scratch when neither its
// rows nor its columns are adjacent elements.
func operandOf[E device.Float](m matrix[E], scratch []E) (data []E, trans blas.Transpose, ld int) {
	if ld, ok := leading(m.rowStride, m.rows, m.columns); ok && (m.columnStride == 1 || m.columns == 1) {
		return m.data, blas.NoTrans, ld
	}
	if ld, ok := leading(m.columnStride, m.columns, m.rows); ok && (m.rowStride == 1 || m.rows == 1) {
		return m.data, blas.Trans, ld
	}
	for r := range m.rows {
		for c := range m.columns {
			scratch[r*m.columns+c] = m.data[r*m.rowStride+c*m.columnStride]
		}
	}
	return scratch, blas.NoTrans, m.columns
}

// rowMajor sees the start of a slice as a matrix.
func rowMajor[E device.Float](data []E, rows, columns int) matrix[E] {
	return matrix[E]{data, rows, columns, columns, 1}
}

// multiply sets out, row by row, to alpha times a b; a has at most gemmBlock rows.
// spare has room for a and for productWidth columns of b.
func multiply[E device.Float](alpha E, a, b matrix[E], out, spare []E) {
	dataA, transA, lda := operandOf(a, spare)
	for j := 0; j < b.columns; j += productWidth {
		part := b.block(0, j, b.rows, min(productWidth, b.columns-j))
		dataB, transB, ldb := operandOf(part, spare[a.rows*a.columns:])
		gemm(transA, transB, a.rows, part.columns, b.rows, alpha, dataA, lda, dataB, ldb, 0, out[j:], b.columns)
	}
}
