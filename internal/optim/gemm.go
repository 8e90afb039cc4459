package optim

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Matrix products run in tiles small enough that the library computes each of
// them on the calling goroutine: the optimizer is parallel over tensors, and a
// product that started goroutines of its own would allocate in every step. The
// tile sizes fix the summation order, hence the bits of the result.
const (
	rowTile   = 64
	gramDepth = 512 // elements of a dot product in one tile of X*transpose(X)
	wideTile  = 192 // columns of one tile of P*X
)

// gram adds alpha * x * transpose(x) to the symmetric matrix g. x has rows x
// columns elements with leading dimension ldx, g rows x rows with leading
// dimension ldg. Only the tiles on and above the diagonal are computed; the rest
// is mirrored, so g stays exactly symmetric.
func gram[T device.Float](alpha T, x []T, rows, columns, ldx int, g []T, ldg int) {
	for i := 0; i < rows; i += rowTile {
		height := min(rowTile, rows-i)
		for j := i; j < rows; j += rowTile {
			width := min(rowTile, rows-j)
			for k := 0; k < columns; k += gramDepth {
				depth := min(gramDepth, columns-k)
				multiplyAdd(blas.Trans, height, width, depth, alpha, x[i*ldx+k:], ldx, x[j*ldx+k:], ldx, g[i*ldg+j:], ldg)
			}
		}
	}
	for i := range rows {
		for j := range i {
			g[i*ldg+j] = g[j*ldg+i]
		}
	}
}

// product adds p * x to y. p has rows x rows elements, x and y rows x columns
// with leading dimension ldx.
func product[T device.Float](p []T, ldp int, x, y []T, rows, columns, ldx int) {
	for j := 0; j < columns; j += wideTile {
		width := min(wideTile, columns-j)
		for i := 0; i < rows; i += rowTile {
			height := min(rowTile, rows-i)
			for k := 0; k < rows; k += rowTile {
				depth := min(rowTile, rows-k)
				multiplyAdd(blas.NoTrans, height, width, depth, 1, p[i*ldp+k:], ldp, x[k*ldx+j:], ldx, y[i*ldx+j:], ldx)
			}
		}
	}
}

// multiplyAdd adds alpha * a * b, or alpha * a * transpose(b), to c.
func multiplyAdd[T device.Float](transposeB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, c []T, ldc int) {
	var implementation gonum.Implementation
	switch a := any(a).(type) {
	case []float32:
		implementation.Sgemm(blas.NoTrans, transposeB, m, n, k, float32(alpha), a, lda, any(b).([]float32), ldb, 1, any(c).([]float32), ldc)
	case []float64:
		implementation.Dgemm(blas.NoTrans, transposeB, m, n, k, float64(alpha), a, lda, any(b).([]float64), ldb, 1, any(c).([]float64), ldc)
	}
}
