package optim

import (
	"math"

	"github.com/reprise-ml/reprise/runtime/device"
)

// Coefficients of the quintic Newton-Schulz iteration and the guard of its
// normalisation (YOLO26 specification, training section 4.3; the coefficients
// are those of the public Muon write-up).
const (
	newtonSchulzA       = 3.4445
	newtonSchulzB       = -4.7750
	newtonSchulzC       = 2.0315
	newtonSchulzEpsilon = 1e-7
)

// rowPadding rounds leading dimensions up, in elements, so that every matrix row
// starts on a 16-byte boundary: the library's dot product sums in an order that
// depends on the alignment of its operand.
const rowPadding = 16

// minimumScratch makes every scratch buffer a large allocation, which the Go
// runtime places at the start of a page; rowPadding relies on it.
const minimumScratch = 1 << 14

// scratch holds the work matrices of one goroutine.
type scratch[T device.Float] struct {
	buffer []T
}

// scratchSize is the number of elements that orthogonalising a matrix of rows x
// columns needs.
func scratchSize(rows, columns int) int {
	short, long := min(rows, columns), max(rows, columns)
	return 2*short*padded(long) + 2*short*padded(short)
}

func padded(n int) int { return (n + rowPadding - 1) / rowPadding * rowPadding }

// reserve makes room for size elements and keeps larger room.
func (s *scratch[T]) reserve(size int) {
	if len(s.buffer) < size {
		s.buffer = make([]T, max(size, minimumScratch))
	}
}

// orthogonal is the result of orthogonalize: element (i, j) of the matrix lies
// at i*rowStride + j*columnStride.
type orthogonal[T device.Float] struct {
	value                   []T
	rowStride, columnStride int
}

// orthogonalize applies steps Newton-Schulz iterations to the rows x columns
// Nesterov direction gradient + mu*momentum. The result lies in the scratch and
// is valid until its next use. A zero matrix gives zero (YOLO26 specification,
// training section 4.3).
func orthogonalize[T device.Float](s *scratch[T], gradient, momentum []T, mu T, rows, columns, steps int) orthogonal[T] {
	s.reserve(scratchSize(rows, columns))
	short, long := min(rows, columns), max(rows, columns)
	ldx, ldg := padded(long), padded(short)
	x, rest := s.buffer[:short*ldx], s.buffer[short*ldx:]
	y, rest := rest[:short*ldx], rest[short*ldx:]
	g, p := rest[:short*ldg], rest[short*ldg:2*short*ldg]

	result := orthogonal[T]{rowStride: ldx, columnStride: 1}
	if rows > columns {
		result.rowStride, result.columnStride = 1, ldx
	}
	divisor := T(frobenius(gradient, momentum, mu)) + newtonSchulzEpsilon
	for i := range rows {
		for j := range columns {
			k := i*columns + j
			x[i*result.rowStride+j*result.columnStride] = nesterov(gradient[k], momentum[k], mu) / divisor
		}
	}
	for range steps {
		clear(g)
		gram(1, x, short, long, ldx, g, ldg)
		for i := range p {
			p[i] = newtonSchulzB * g[i]
		}
		gram(newtonSchulzC, g, short, short, ldg, p, ldg)
		for i := range y {
			y[i] = newtonSchulzA * x[i]
		}
		product(p, ldg, x, y, short, long, ldx)
		x, y = y, x
	}
	result.value = x
	return result
}

// nesterov is the look-ahead direction v = g + mu*m of one element.
func nesterov[T device.Float](gradient, momentum, mu T) T { return gradient + mu*momentum }

// frobenius is the Frobenius norm of the Nesterov direction, summed in double
// precision in row-major order.
func frobenius[T device.Float](gradient, momentum []T, mu T) float64 {
	var sum float64
	for i := range gradient {
		v := float64(nesterov(gradient[i], momentum[i], mu))
		sum += v * v
	}
	return math.Sqrt(sum)
}
