package host

import (
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// attention prepares Y = softmax(Alpha Q K^T) V. A task has gemmBlock queries of one
// matrix.
func (b *binder[T]) attention(k *ir.Attention) launch {
	a := b.attentionOf(k.Q, k.K, k.V, k.TransposeQ, k.TransposeK, k.TransposeV)
	a.y = b.positions("y", k.Y, k.TransposeY, a.lead, a.queries, a.value)
	a.logSum = b.column("logSum", k.LogSum, a.lead, a.queries)
	if b.err != nil {
		return nil
	}
	a.begin(b.work, k.Alpha)
	blocks := ceilDivide(a.queries, gemmBlock)
	return launch{{tasks: a.batch * blocks, run: func(task, worker int) {
		a.forward(task/blocks, task%blocks*gemmBlock, worker)
	}}}
}

// attentionGradient prepares the gradients of attention: the sums of DY*Y of every
// query, then DQ by blocks of queries and DK and DV by blocks of keys.
func (b *binder[T]) attentionGradient(k *ir.AttentionGradient) launch {
	a := b.attentionOf(k.Q, k.K, k.V, k.TransposeQ, k.TransposeK, k.TransposeV)
	a.y = b.positions("y", k.Y, k.TransposeY, a.lead, a.queries, a.value)
	a.logSum = b.column("logSum", k.LogSum, a.lead, a.queries)
	a.dY = b.positions("dY", k.DY, k.TransposeY, a.lead, a.queries, a.value)
	if k.DQ != 0 {
		a.dQ = b.positions("dQ", k.DQ, k.TransposeQ, a.lead, a.queries, a.key)
	}
	if k.DK != 0 {
		a.dK = b.positions("dK", k.DK, k.TransposeK, a.lead, a.keys, a.key)
	}
	if k.DV != 0 {
		a.dV = b.positions("dV", k.DV, k.TransposeV, a.lead, a.keys, a.value)
	}
	if !b.check(k.DQ != 0 || k.DK != 0 || k.DV != 0, "no gradient is wanted") {
		return nil
	}
	a.addQ, a.addK, a.addV = k.AccumulateQ, k.AccumulateK, k.AccumulateV
	a.begin(b.work, k.Alpha)
	a.sums = b.work.floats.take(a.batch * a.queries)
	queries, keys := ceilDivide(a.queries, gemmBlock), ceilDivide(a.keys, gemmBlock)
	l := launch{{tasks: a.batch * queries, run: func(task, _ int) { a.rowSums(task/queries, task%queries*gemmBlock) }}}
	if k.DQ != 0 {
		l = append(l, phase{tasks: a.batch * queries, run: func(task, worker int) {
			a.queryGradient(task/queries, task%queries*gemmBlock, worker)
		}})
	}
	if k.DK != 0 || k.DV != 0 {
		l = append(l, phase{tasks: a.batch * keys, run: func(task, worker int) {
			a.keyGradients(task/keys, task%keys*gemmBlock, worker)
		}})
	}
	return l
}

// attentionOf finds what attention and its gradients read.
func (b *binder[T]) attentionOf(q, k, v ir.Ref, transposeQ, transposeK, transposeV bool) *attention[T] {
	a := &attention[T]{}
	a.q = b.matrices("q", q, transposeQ)
	if b.err != nil {
		return a
	}
	rank := len(a.q.shape)
	a.lead, a.queries, a.key = a.q.shape[:rank-2], a.q.shape[rank-2], a.q.shape[rank-1]
	a.k = b.positions("k", k, transposeK, a.lead, anySize, a.key)
	a.keys = a.k.shape[rank-2]
	a.v = b.positions("v", v, transposeV, a.lead, a.keys, anySize)
	a.value = a.v.shape[rank-1]
	a.batch = 1
	for _, d := range a.lead {
		a.batch *= d
	}
	return a
}

// matrices finds an operand of matrices and swaps their dimensions on request.
func (b *binder[T]) matrices(role string, ref ir.Ref, transposed bool) view[T] {
	v := b.tensor(role, ref)
	if b.check(len(v.shape) >= 2, "operand %s has shape %v; at least 2 dimensions are needed", role, v.shape) && transposed {
		return v.transposed()
	}
	return v
}

// positions finds an operand of matrices count x width, which is transposed on
// request.
func (b *binder[T]) positions(role string, ref ir.Ref, transposed bool, lead []int, count, width int) view[T] {
	v := b.float(role, ref, matrixShape(lead, count, width, transposed)...)
	if transposed {
		return v.transposed()
	}
	return v
}

// column finds an operand of vectors, as matrices of one column.
func (b *binder[T]) column(role string, ref ir.Ref, lead []int, count int) view[T] {
	v := b.float(role, ref, append(append([]int(nil), lead...), count)...)
	return view[T]{data: v.data, shape: append(append([]int(nil), v.shape...), 1), strides: append(append([]int(nil), v.strides...), 0)}
}

// attention is a batch of attentions; matrices are positions x width.
type attention[T device.Float] struct {
	lead                       []int
	batch, queries, keys       int
	key, value                 int // widths
	alpha                      T
	q, k, v, y, logSum         view[T]
	dY, dQ, dK, dV             view[T] // those that are absent have no data
	addQ, addK, addV           bool
	sums                       []T // of DY*Y, by matrix and query
	scratch                    []T
	scores, tile, spare, share int // sizes of the parts of a worker's scratch, and of all
}

// begin takes scratch: two blocks of scores, one of results, and copies of operands.
func (a *attention[T]) begin(work *workspace[T], alpha float64) {
	a.alpha = T(alpha)
	longest, widest := max(a.queries, a.keys), max(a.key, a.value)
	a.scores, a.tile, a.spare = gemmBlock*longest, gemmBlock*widest, (gemmBlock+productWidth)*max(longest, widest)
	a.share = 2*a.scores + a.tile + a.spare
	a.scratch = work.floats.take(work.workers * a.share)
}

// parts are the pieces of a worker's scratch.
func (a *attention[T]) parts(worker int) (scores, changes, tile, spare []T) {
	s := a.scratch[worker*a.share:][:a.share]
	return s[:a.scores], s[a.scores:][:a.scores], s[2*a.scores:][:a.tile], s[2*a.scores+a.tile:]
}

// block is gemmBlock rows of matrix number i of an operand, or those that are left.
func block[E device.Float](v view[E], i, first int) matrix[E] {
	m := at(v, i, false)
	return m.block(first, 0, min(gemmBlock, m.rows-first), m.columns)
}

// forward makes the results of gemmBlock queries of matrix i.
func (a *attention[T]) forward(i, first, worker int) {
	scores, _, tile, spare := a.parts(worker)
	q, y, logSum := block(a.q, i, first), block(a.y, i, first), block(a.logSum, i, first)
	multiply(a.alpha, q, at(a.k, i, true), scores, spare)
	for r := range q.rows {
		row := scores[r*a.keys:][:a.keys]
		logSum.data[r*logSum.rowStride] = T(softmaxRow(row, row))
	}
	multiply(1, rowMajor(scores, q.rows, a.keys), at(a.v, i, false), tile, spare)
	putTile(y, tile, a.value, false)
}

// rowSums adds up DY*Y of gemmBlock queries.
func (a *attention[T]) rowSums(i, first int) {
	dY, y := block(a.dY, i, first), block(a.y, i, first)
	for r := range dY.rows {
		sum := 0.0
		for c := range dY.columns {
			sum += float64(dY.data[r*dY.rowStride+c*dY.columnStride]) * float64(y.data[r*y.rowStride+c*y.columnStride])
		}
		a.sums[i*a.queries+first+r] = T(sum)
	}
}

// queryGradient makes DQ of gemmBlock queries.
func (a *attention[T]) queryGradient(i, first, worker int) {
	scores, changes, tile, spare := a.parts(worker)
	q, logSum := block(a.q, i, first), block(a.logSum, i, first)
	multiply(a.alpha, q, at(a.k, i, true), scores, spare)
	multiply(1, block(a.dY, i, first), at(a.v, i, true), changes, spare)
	for r := range q.rows {
		row, change := scores[r*a.keys:][:a.keys], changes[r*a.keys:][:a.keys]
		exponentials(row, row, logSum.data[r*logSum.rowStride])
		sum := a.sums[i*a.queries+first+r]
		for j := range row {
			row[j] *= change[j] - sum
		}
	}
	multiply(a.alpha, rowMajor(scores, q.rows, a.keys), at(a.k, i, false), tile, spare)
	putTile(block(a.dQ, i, first), tile, a.key, a.addQ)
}

// keyGradients makes DK and DV of gemmBlock keys.
func (a *attention[T]) keyGradients(i, first, worker int) {
	scores, changes, tile, spare := a.parts(worker)
	k, logSum := block(a.k, i, first), at(a.logSum, i, false)
	multiply(a.alpha, k, at(a.q, i, true), scores, spare)
	for r := range k.rows {
		row := scores[r*a.queries:][:a.queries]
		for j := range row {
			row[j] -= logSum.data[j*logSum.rowStride]
		}
		exponentials(row, row, 0)
	}
	p := rowMajor(scores, k.rows, a.queries)
	if a.dV.data != nil {
		multiply(1, p, at(a.dY, i, false), tile, spare)
		putTile(block(a.dV, i, first), tile, a.value, a.addV)
	}
	if a.dK.data == nil {
		return
	}
	multiply(1, block(a.v, i, first), at(a.dY, i, true), changes, spare)
	sums := a.sums[i*a.queries:][:a.queries]
	for r := range k.rows {
		row, change := scores[r*a.queries:][:a.queries], changes[r*a.queries:][:a.queries]
		for j := range row {
			row[j] *= change[j] - sums[j]
		}
	}
	multiply(a.alpha, p, at(a.q, i, false), tile, spare)
	putTile(block(a.dK, i, first), tile, a.key, a.addK)
}
