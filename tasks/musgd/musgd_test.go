package musgd_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/tasks/detect"
	"github.com/reprise-ml/reprise/tasks/musgd"
	"github.com/reprise-ml/reprise/tasks/obb"
	"github.com/reprise-ml/reprise/tasks/pose"
	"github.com/reprise-ml/reprise/tasks/segment"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// orthogonalized runs the iterations on matrices of one size.
func orthogonalized(t *testing.T, precision device.Precision, steps, rows, columns int, matrices ...[]float64) [][]float64 {
	t.Helper()
	defined, err := stage.Define("orthogonalize", func(b *stage.Builder) {
		b.Output("y", musgd.Orthogonalize(b, b.FixedInput("x", len(matrices), rows, columns), steps))
	}).Build()
	require.NoError(t, err)
	plan, err := pass.Run(defined, nil)
	require.NoError(t, err)
	dev := host.Open(host.Options{})
	loaded, err := dev.Load(plan, precision)
	require.NoError(t, err)
	bound, err := loaded.Bind(ir.Sizes{Batch: 1, Height: 1, Width: 1})
	require.NoError(t, err)
	var x []float64
	for _, m := range matrices {
		x = append(x, m...)
	}
	require.NoError(t, bound.Input(0).WriteFloat64(x))
	require.NoError(t, bound.Run(device.Forward(ir.Training)))
	require.NoError(t, bound.Output(0).ReadFloat64(x))
	require.NoError(t, bound.Close())
	require.NoError(t, loaded.Close())
	require.NoError(t, dev.Close())
	var out [][]float64
	for i := range matrices {
		out = append(out, x[i*rows*columns:][:rows*columns])
	}
	return out
}

// YOLO26 specification, training section 4.6: wide, tall and one-row matrices,
// a batch at a time, and the zero matrix among them.
func TestOrthogonalizeVectors(t *testing.T) {
	for _, c := range []struct {
		rows, columns int
		matrix, want  []float64
	}{
		{2, 2, []float64{1, 2, 3, 4}, []float64{-0.680661, 0.825540, 0.741295, 0.259440}},
		{2, 3, []float64{1, 2, 3, 4, 5, 6}, []float64{-0.568290, 0.057742, 0.683774, 0.563355, 0.405613, 0.247871}},
		{3, 2, []float64{1, 0, 0, 1, 1, 1}, []float64{0.639042, -0.126397, -0.126397, 0.639042, 0.512645, 0.512645}},
		{1, 4, []float64{3, 0, 4, 0}, []float64{0.417862, 0, 0.557149, 0}},
	} {
		zero := make([]float64, len(c.matrix))
		got := orthogonalized(t, device.Float64, musgd.Steps, c.rows, c.columns, c.matrix, zero, c.matrix)
		require.InDeltaSlice(t, c.want, got[0], 6e-7)
		require.Equal(t, zero, got[1])
		require.Equal(t, got[0], got[2])
		require.InDeltaSlice(t, c.want, orthogonalized(t, device.FP32, musgd.Steps, c.rows, c.columns, c.matrix)[0], 2e-6)
	}
}

// Section 4.6: the map of the singular value 1.
func TestOrthogonalizeScalarMap(t *testing.T) {
	for i, want := range []float64{0.701000, 1.113620, 0.720706, 1.089974, 0.696436} {
		require.InDelta(t, want, orthogonalized(t, device.Float64, i+1, 1, 1, []float64{1e6})[0][0], 6e-7)
	}
}

// Section 4.3: below the guard of the normalisation results shrink.
func TestOrthogonalizeIsNotScaleInvariantNearZero(t *testing.T) {
	require.InDelta(t, 0.69644, orthogonalized(t, device.Float64, musgd.Steps, 1, 1, []float64{1})[0][0], 6e-6)
	require.InDelta(t, 0.69194, orthogonalized(t, device.Float64, musgd.Steps, 1, 1, []float64{1e-8})[0][0], 6e-6)
	for norm, want := range map[float64]float64{1: 1.1284, 1e-8: 1.0090} {
		v := []float64{1, 2, 3, 4}
		for i := range v {
			v[i] *= norm / math.Sqrt(30)
		}
		var svd mat.SVD
		require.True(t, svd.Factorize(mat.NewDense(2, 2, orthogonalized(t, device.Float64, musgd.Steps, 2, 2, v)[0]), mat.SVDNone))
		require.InDelta(t, want, svd.Values(nil)[0], 5e-5)
	}
}

// Section 4.4: how many matrices, vectors and distinct matrix shapes the
// detectors and the other tasks at nano scale have.
func TestClassesOfTheNetworks(t *testing.T) {
	for _, c := range []struct {
		name                      string
		stages                    []*stage.Definition
		matrices, shapes, largest int
	}{
		{"detect n", []*stage.Definition{detect.Define(yolo26.Nano, 80)}, 127, 41, 256},
		{"detect m", []*stage.Definition{detect.Define(yolo26.Medium, 80)}, 127, 30, 512},
		{"detect x", []*stage.Definition{detect.Define(yolo26.Extra, 80)}, 155, 27, 768},
		{"obb n", []*stage.Definition{obb.Define(yolo26.Nano, 15)}, 157, 45, 256},
	} {
		var shapes [][]int
		for _, d := range c.stages {
			built, err := d.Build()
			require.NoError(t, err)
			for _, p := range built.Parameters {
				shapes = append(shapes, p.Shape)
			}
		}
		matrices, largest := 0, 0
		classes := musgd.Classes(shapes)
		for _, class := range classes {
			if class.Matrices() {
				matrices += len(class.Members)
				largest = max(largest, min(class.Rows, class.Columns))
			}
		}
		require.Equal(t, c.matrices, matrices, c.name)
		require.Equal(t, c.largest, largest, c.name)
		require.LessOrEqual(t, len(classes)-1, c.shapes, "%s: equal shapes are one class", c.name)
		require.False(t, classes[len(classes)-1].Matrices(), "vectors come last")
	}
}

// The classes depend on which shapes there are, not on their order: the stage
// that is generated from a definition is the one that a fit makes from its table.
func TestDefinitionEqualsTable(t *testing.T) {
	planOf := func(d *stage.Definition) *ir.Stage {
		built, err := d.Build()
		require.NoError(t, err)
		plan, err := pass.Run(built, nil)
		require.NoError(t, err)
		return plan
	}
	stages := []*stage.Definition{yolo26.Features(yolo26.Test), segment.DefineHead(yolo26.Test, 4)}
	var shapes [][]int
	for i := range stages {
		built, err := stages[len(stages)-1-i].Build()
		require.NoError(t, err)
		for _, p := range built.Parameters {
			shapes = append(shapes, p.Shape)
		}
	}
	require.Equal(t, planOf(musgd.OfShapes("optimizer", 2, shapes)).Digest, planOf(musgd.Define("optimizer", 2, stages...)).Digest)
	require.NotEqual(t, planOf(musgd.OfShapes("optimizer", 3, shapes)).Digest, planOf(musgd.Define("optimizer", 2, stages...)).Digest)
}

// A network that is not a stage is reported, once, where the optimizer is defined.
func TestDefineReportsABrokenNetwork(t *testing.T) {
	broken := stage.Define("broken", func(b *stage.Builder) { b.Input("x", stage.Shape{stage.Batch, 3}) })
	_, err := musgd.Define("optimizer", musgd.Steps, broken).Build()
	require.ErrorContains(t, err, "stage broken: input: x is never used")
	_, err = musgd.Define("optimizer", musgd.Steps, pose.DefineHead(yolo26.Test, 4, pose.Points)).Build()
	require.NoError(t, err)
}

// Every number that varies between steps is an input of the stage, and no
// constant of its plan depends on one.
func TestScalarsAreInputs(t *testing.T) {
	built, err := musgd.OfShapes("optimizer", musgd.Steps, [][]int{{8, 3, 3, 3}, {8}, {8, 1, 1}}).Build()
	require.NoError(t, err)
	sizes := map[string]string{}
	for _, in := range built.Inputs {
		sizes[in.Name] = ir.ShapeText(built.Tensor(in.Tensor).Shape)
	}
	require.Equal(t, map[string]string{
		"momentum": "(1)", "muon": "(1)", "sgd": "(1)", "decay": "(1)", "rate": "(1)",
		"gradient_8x27": "(1, 8, 27)", "momentum_8x27": "(1, 8, 27)", "weight_8x27": "(1, 8, 27)",
		"gradient_vectors": "(1, 16)", "momentum_vectors": "(1, 16)",
	}, sizes)
	last := built.Forward[len(built.Forward)-4].Do.(*ir.LinearCombination)
	require.Equal(t, []float64{0.2 * math.Sqrt(27), 1, 1}, last.Coefficients)
	_, err = musgd.OfShapes("optimizer", 0, [][]int{{8, 27}}).Build()
	require.NoError(t, err, "without orthogonalisation")
}
