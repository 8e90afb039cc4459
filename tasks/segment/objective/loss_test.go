package objective

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// smoothBox has the derivatives that its values have. Those of the complete IoU
// hold a factor of it constant, so that differences of its values are others;
// its own test knows about that.
func smoothBox(p, t yolo26.Box) (loss float64, slopes [4]float64) {
	for i, d := range [4]float64{p.X1 - t.X1, p.Y1 - t.Y1, p.X2 - t.X2, p.Y2 - t.Y2} {
		loss += d * d / 100
		slopes[i] = d / 50
	}
	return loss, slopes
}

// Every kind of derivative of the complete loss against central differences.
func TestLossDerivatives(t *testing.T) {
	o := newObjective(t)
	o.Box = smoothBox
	outputs, targets := randomOutputs[float64](5, small), randomTargets(5, small, 4)
	step, err := newStep(o, outputs, small, targets, 0.7)
	require.NoError(t, err)
	many := yolo26.Assign(o.options.OneToMany, step.Grid, 3, outputs.OneToMany.Dense, step.Truth)
	one := yolo26.Assign(o.options.OneToOne, step.Grid, 3, outputs.OneToOne.Dense, step.Truth)
	total := func() float64 {
		r, err := evaluate(step, outputs, many, one, 0.7)
		require.NoError(t, err)
		return r.Total
	}
	result, err := Loss(o, outputs, small, targets, 0.7)
	require.NoError(t, err)
	require.Equal(t, total(), result.Total, "Loss assigns and evaluates")

	cotangents := map[string][]float64{}
	each(result.Cotangents, func(name string, values []float64) { cotangents[name] = values })
	checked := map[string]int{}
	each(outputs, func(name string, values []float64) {
		for i := range values {
			got := cotangents[name][i]
			if got == 0 && i%1009 != 0 || got != 0 && i%41 != 0 {
				continue
			}
			require.InDelta(t, slope(&values[i], total), got, 5e-7, "%s %d", name, i)
			checked[name]++
		}
	})
	require.Greater(t, checked["one-to-many coefficient"], 10)
	require.Greater(t, checked["prototypes"], 20)
	require.Greater(t, checked["semantic"], 10)
}

// Section 3: the total from the terms.
func TestTotalIsTheBlendOfTheTerms(t *testing.T) {
	result, err := Loss(newObjective(t), randomOutputs[float64](7, small), small, randomTargets(7, small, 4), 0.8)
	require.NoError(t, err)
	want := 0.5 * result.Semantic
	for _, b := range []struct {
		Terms
		weight float64
	}{{result.OneToMany.Terms, 0.8}, {result.OneToOne.Terms, 0.2}} {
		want += b.weight * (7.5*b.Box + 0.5*b.Class + 6*b.L1 + 2.5*b.Mask)
		require.Positive(t, b.Mask)
	}
	require.InEpsilon(t, want, result.Total, 1e-12)
}

func TestProcessorsAndInputs(t *testing.T) {
	outputs, targets := randomOutputs[float32](8, small), randomTargets(8, small, 5)
	want, err := Loss(newObjective(t), outputs, small, targets, 0.4)
	require.NoError(t, err)
	require.Equal(t, randomOutputs[float32](8, small), outputs, "outputs are read only")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, processors := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(processors)
		got, err := Loss(newObjective(t), outputs, small, targets, 0.4)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// Note 7: in evaluation there is no semantic output, and its term is 0.
func TestEvaluationHasNoSemanticTerm(t *testing.T) {
	outputs := randomOutputs[float64](3, small)
	outputs.Semantic = nil
	result, err := Loss(newObjective(t), outputs, small, randomTargets(3, small, 3), 0.5)
	require.NoError(t, err)
	require.Zero(t, result.Semantic)
	require.Nil(t, result.Cotangents.Semantic)
}

func TestLossRefusesWhatDoesNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *Outputs[float32], t []Target)
		want   string
	}{
		"coefficients": {func(o *Outputs[float32], _ []Target) { o.OneToMany.Coefficient = nil }, "one-to-many coefficient output has 0 elements, want 2 x 126 x 32"},
		"other branch": {func(o *Outputs[float32], _ []Target) { o.OneToOne.Coefficient = nil }, "one-to-one coefficient output has 0 elements"},
		"prototypes":   {func(o *Outputs[float32], _ []Target) { o.Prototypes = o.Prototypes[1:] }, "prototype output has 24575 elements, want 2 x 32 x 16 x 24 = 24576"},
		"semantic":     {func(o *Outputs[float32], _ []Target) { o.Semantic = o.Semantic[1:] }, "semantic output has 575 elements, want 2 x 3 x 8 x 12 = 576"},
		"mask count":   {func(_ *Outputs[float32], t []Target) { t[1].Masks = nil }, "image 1 has 0 masks for"},
		"mask size":    {func(_ *Outputs[float32], t []Target) { t[0].Masks[0] = make([]bool, 5) }, "image 0, object 0: a mask of 5 cells for a grid of 16 x 24; rasterise it at a quarter of the image"},
	} {
		t.Run(name, func(t *testing.T) {
			outputs, targets := randomOutputs[float32](1, small), randomTargets(1, small, 3)
			c.change(&outputs, targets)
			_, err := Loss(newObjective(t), outputs, small, targets, 0.5)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestWhatIsNotFiniteShowsInTheTotal(t *testing.T) {
	for _, targets := range [][]Target{randomTargets(6, small, 4), {{}, {}}} {
		for at := range 3 {
			outputs := randomOutputs[float64](6, small)
			*[]*float64{&outputs.OneToMany.Coefficient[1000], &outputs.Prototypes[5], &outputs.Semantic[9]}[at] = math.NaN()
			result, err := Loss(newObjective(t), outputs, small, targets, 0.5)
			require.NoError(t, err)
			require.True(t, math.IsNaN(result.Total), at)
		}
	}
}
