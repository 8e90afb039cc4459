package optim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/reprise-ml/reprise/runtime/device"
)

// orthogonalized applies the iteration to a matrix without momentum and returns
// the result in row-major order.
func orthogonalized[T device.Float](value []T, rows, columns, steps int) []T {
	o := orthogonalize(new(scratch[T]), value, make([]T, len(value)), 0.95, rows, columns, steps)
	out := make([]T, len(value))
	for i := range rows {
		for j := range columns {
			out[i*columns+j] = o.value[i*o.rowStride+j*o.columnStride]
		}
	}
	return out
}

func TestOrthogonalizeVectors(t *testing.T) {
	for _, test := range []struct {
		name          string
		rows, columns int
		value, want   []float64
	}{
		{"square", 2, 2, []float64{1, 2, 3, 4}, []float64{-0.680661, 0.825540, 0.741295, 0.259440}},
		{"wide", 2, 3, []float64{1, 2, 3, 4, 5, 6}, []float64{-0.568290, 0.057742, 0.683774, 0.563355, 0.405613, 0.247871}},
		{"tall", 3, 2, []float64{1, 0, 0, 1, 1, 1}, []float64{0.639042, -0.126397, -0.126397, 0.639042, 0.512645, 0.512645}},
		{"one row", 1, 4, []float64{3, 0, 4, 0}, []float64{0.417862, 0, 0.557149, 0}},
		{"zero", 2, 2, []float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.InDeltaSlice(t, test.want, orthogonalized(test.value, test.rows, test.columns, 5), 6e-7)
		})
	}
}

func TestOrthogonalizeScalarMap(t *testing.T) {
	for i, want := range []float64{0.701000, 1.113620, 0.720706, 1.089974, 0.696436} {
		require.InDelta(t, want, orthogonalized([]float64{1}, 1, 1, i+1)[0], 6e-7, "after %d iterations", i+1)
	}
}

// The guard of the normalisation makes the result depend on the scale of tiny
// matrices; a rank-one matrix and the largest singular value of [[1,2],[3,4]].
func TestOrthogonalizeIsNotScaleInvariantNearZero(t *testing.T) {
	norm := func(v []float64) float64 { return mat.Norm(mat.NewDense(1, len(v), v), 2) }
	largest := func(v []float64) float64 {
		var svd mat.SVD
		require.True(t, svd.Factorize(mat.NewDense(2, 2, v), mat.SVDNone))
		return svd.Values(nil)[0]
	}
	scaled := func(norm float64) []float64 {
		v := []float64{1, 2, 3, 4}
		for i := range v {
			v[i] *= norm / math.Sqrt(30)
		}
		return orthogonalized(v, 2, 2, 5)
	}
	require.InDelta(t, 0.69644, norm(orthogonalized([]float64{1}, 1, 1, 5)), 5e-6)
	require.InDelta(t, 0.69194, norm(orthogonalized([]float64{1e-8}, 1, 1, 5)), 5e-6)
	require.InDelta(t, 1.1284, largest(scaled(1)), 5e-5)
	require.InDelta(t, 1.0090, largest(scaled(1e-8)), 5e-5)
}

// Sizes around and beyond the tile sizes, against the formula written with a
// general matrix library.
func TestOrthogonalizeMatchesTheFormula(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][2]int{{1, 1}, {3, 200}, {64, 64}, {65, 129}, {129, 65}, {130, 300}, {70, 1}} {
		rows, columns := size[0], size[1]
		value := make([]float64, rows*columns)
		for i := range value {
			value[i] = random.NormFloat64()
		}
		want := formula(mat.NewDense(rows, columns, append([]float64(nil), value...)))
		got := orthogonalized(value, rows, columns, 5)
		single := make([]float32, len(value))
		for i, v := range value {
			single[i] = float32(v)
		}
		got32 := orthogonalized(single, rows, columns, 5)
		for i := range rows {
			for j := range columns {
				require.InDelta(t, want.At(i, j), got[i*columns+j], 1e-12, "%v at %d,%d", size, i, j)
				require.InDelta(t, want.At(i, j), got32[i*columns+j], 2e-5, "%v at %d,%d", size, i, j)
			}
		}
	}
}

func formula(v *mat.Dense) mat.Matrix {
	rows, columns := v.Dims()
	var x mat.Dense
	x.Scale(1/(mat.Norm(v, 2)+1e-7), v)
	if rows > columns {
		x.CloneFrom(x.T())
	}
	for range 5 {
		var g, gg, p, px mat.Dense
		g.Mul(&x, x.T())
		gg.Mul(&g, &g)
		gg.Scale(2.0315, &gg)
		p.Scale(-4.7750, &g)
		p.Add(&p, &gg)
		px.Mul(&p, &x)
		x.Scale(3.4445, &x)
		x.Add(&x, &px)
	}
	if rows > columns {
		return x.T()
	}
	return &x
}
