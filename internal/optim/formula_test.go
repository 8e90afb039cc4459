package optim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/tasks/musgd"
)

// formula is YOLO26 specification, training section 4.2, written down in double
// precision, tensor by tensor.
type formula struct {
	options  MuSGDOptions
	momentum map[string][]float64
}

func (f *formula) step(lr float64, p *Parameter[float64]) {
	if p.Gradient == nil {
		return
	}
	m := f.momentum[p.Name]
	if m == nil {
		m = make([]float64, len(p.Value))
		f.momentum[p.Name] = m
	}
	v := make([]float64, len(m))
	for i, g := range p.Gradient {
		m[i] = f.options.Momentum*m[i] + g
		v[i] = g + f.options.Momentum*m[i]
	}
	u := v
	if rows, columns, matrix := musgd.MatrixSize(p.Shape); matrix {
		o := newtonSchulz(mat.NewDense(rows, columns, v), f.options.NSSteps)
		u = make([]float64, len(v))
		gain := f.options.WMuon * 0.2 * math.Sqrt(float64(max(rows, columns)))
		for i := range u {
			u[i] = gain*o.At(i/columns, i%columns) + f.options.WSGD*v[i] + f.options.WeightDecay*p.Value[i]
		}
	}
	for i := range u {
		p.Value[i] -= lr * u[i]
	}
}

// newtonSchulz is section 4.3.
func newtonSchulz(v *mat.Dense, steps int) mat.Matrix {
	rows, columns := v.Dims()
	if rows > columns {
		return newtonSchulz(mat.DenseCopyOf(v.T()), steps).T()
	}
	var x mat.Dense
	x.Scale(1/(mat.Norm(v, 2)+1e-7), v)
	for range steps {
		var g, square, p, next mat.Dense
		g.Mul(&x, x.T())
		square.Mul(&g, &g)
		square.Scale(2.0315, &square)
		p.Scale(-4.7750, &g)
		p.Add(&p, &square)
		next.Mul(&p, &x)
		x.Scale(3.4445, &x)
		x.Add(&x, &next)
	}
	return &x
}

// drawn makes parameters with seeded values.
func drawn[T device.Float](shapes [][]int, seed uint64) []Parameter[T] {
	random := rand.New(rand.NewPCG(seed, 7))
	parameters := make([]Parameter[T], len(shapes))
	for i, shape := range shapes {
		size := device.Elements(shape)
		p := Parameter[T]{Name: fmt.Sprintf("p%03d", i), Shape: shape, Value: make([]T, size), Gradient: make([]T, size)}
		for k := range p.Value {
			p.Value[k], p.Gradient[k] = T(float32(random.NormFloat64())), T(float32(random.NormFloat64()))
		}
		parameters[i] = p
	}
	return parameters
}

var smallShapes = [][]int{{16, 3, 3, 3}, {16}, {32, 16, 3, 3}, {8, 1, 3, 3}, {130, 70, 1, 1}, {70, 130}, {1, 16, 1, 1}, {5, 1, 1}, {}, {64, 64, 3, 3}, {32, 16, 3, 3}}

// The stages give what the formula gives, over steps with changing rates,
// absent gradients and zero ones.
func TestStepsFollowTheFormula(t *testing.T) {
	t.Run("float32", func(t *testing.T) { requireFormula[float32](t, 1e-6) })
	t.Run("float64", func(t *testing.T) { requireFormula[float64](t, 1e-12) })
}

func requireFormula[T device.Float](t *testing.T, tolerance float64) {
	options := DefaultMuSGDOptions()
	o, f := optimizer[T](t, home(t), options), formula{options, map[string][]float64{}}
	got, want := drawn[T](smallShapes, 3), drawn[float64](smallShapes, 3)
	for step, rate := range []float64{0.01, 0.02, 0.005, 0.01} {
		fresh := drawn[T](smallShapes, uint64(10+step))
		for i := range got {
			got[i].Gradient, want[i].Gradient = fresh[i].Gradient, make([]float64, len(want[i].Value))
			switch {
			case (i+step)%4 == 1:
				got[i].Gradient, want[i].Gradient = nil, nil
			case (i+step)%4 == 2:
				clear(got[i].Gradient)
			}
			for k := range want[i].Gradient {
				want[i].Gradient[k] = float64(got[i].Gradient[k])
			}
			f.step(rate, &want[i])
		}
		require.NoError(t, o.Step(rate, got))
		for i := range got {
			requireRelative(t, want[i].Value, got[i].Value, tolerance, "step %d, weight %v", step, got[i].Shape)
		}
	}
	require.Len(t, o.State(), len(f.momentum))
	for _, m := range o.State() {
		requireRelative(t, f.momentum[m.Name], m.Value, tolerance, "momentum %v", m.Shape)
	}
}

// requireRelative bounds the L2 norm of a difference relative to the norm.
func requireRelative[T device.Float](t *testing.T, want []float64, got []T, tolerance float64, what string, args ...any) {
	t.Helper()
	require.Len(t, got, len(want))
	difference, norm := 0.0, 0.0
	for i, w := range want {
		difference, norm = difference+math.Pow(float64(got[i])-w, 2), norm+w*w
	}
	require.LessOrEqual(t, math.Sqrt(difference), tolerance*math.Sqrt(norm), fmt.Sprintf(what, args...))
}
