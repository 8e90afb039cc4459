package host

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/reprise-ml/reprise/runtime/device"
)

// gemmBlock is the side of the library's own blocks. It computes a product of
// fewer than four of them on the calling goroutine, and every call of gemm is
// kept that small, so tasks are cut here and only here.
const gemmBlock = 64

// gemm is C = alpha * op(A) op(B) + beta * C for row-major matrices with
// leading dimensions; C is m x n, of at most three blocks. beta 0 does not read
// C.
func gemm[T device.Float](transA, transB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	switch a := any(a).(type) {
	case []float32:
		gonum.Implementation{}.Sgemm(transA, transB, m, n, k, float32(alpha), a, lda, any(b).([]float32), ldb, float32(beta), any(c).([]float32), ldc)
	case []float64:
		gonum.Implementation{}.Dgemm(transA, transB, m, n, k, float64(alpha), a, lda, any(b).([]float64), ldb, float64(beta), any(c).([]float64), ldc)
	}
}

// leading gives the leading dimension of a matrix with m rows of n adjacent
// elements, a stride apart; ok is false when rows overlap.
func leading(stride, m, n int) (ld int, ok bool) {
	if m == 1 {
		return n, true
	}
	return stride, stride >= n
}
