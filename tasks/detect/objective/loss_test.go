package objective

import (
	"math"
	"runtime"
	"testing"

	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
	"github.com/stretchr/testify/require"
)

// Sections 2.4 and 3.1: example (a) with top-k 2 in both branches.
func TestTotalsOfExampleA(t *testing.T) {
	options := DefaultOptions()
	options.OneToMany.TopK, options.OneToOne.TopK = 2, 2
	o, err := New(options)
	require.NoError(t, err)
	step, outputs := example(t, 0, 1)
	many := yolo26.Assign(options.OneToMany, step.Grid, 2, outputs.OneToMany, step.Truth)
	one := yolo26.Assign(options.OneToOne, step.Grid, 2, outputs.OneToOne, step.Truth)
	for alpha, want := range map[float64]float64{1: 3.64496324, 0: 3.43738922, 0.8: 3.60344844, 0.1: 3.45814662} {
		require.InEpsilon(t, want, evaluate(o, step, outputs, many, one, alpha).Total, 1e-8)
	}
	step, outputs = example(t)
	nothing := yolo26.Assign(options.OneToMany, step.Grid, 2, outputs.OneToMany, step.Truth)
	for _, alpha := range []float64{0, 0.3, 1} {
		require.InEpsilon(t, 1.8263702, evaluate(o, step, outputs, nothing, nothing, alpha).Total, 1e-8)
	}
}

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

// Every derivative of the complete loss against central differences.
func TestLossDerivatives(t *testing.T) {
	o := newObjective(t)
	o.Box = smoothBox
	outputs, targets := randomOutputs[float64](5, small), randomTargets(5, small, 5)
	result, err := Loss(o, outputs, small, targets, 0.7)
	require.NoError(t, err)
	require.Positive(t, result.OneToMany.Positives)
	step, err := yolo26.NewStep(small, [][]int{targets[0].Labels, targets[1].Labels}, [][]yolo26.Box{targets[0].Boxes, targets[1].Boxes}, 0.7)
	require.NoError(t, err)
	many := yolo26.Assign(o.options.OneToMany, step.Grid, 3, outputs.OneToMany, step.Truth)
	one := yolo26.Assign(o.options.OneToOne, step.Grid, 3, outputs.OneToOne, step.Truth)
	require.Equal(t, evaluate(o, step, outputs, many, one, 0.7), result, "Loss assigns and evaluates")

	cotangents := map[string][]float64{}
	each(result.Cotangents, func(name string, values []float64) { cotangents[name] = values })
	checked := 0
	each(outputs, func(name string, values []float64) {
		for i := range values {
			slope := cotangents[name][i]
			// Where the derivative claims to be zero, and for classes, a sample will do.
			if slope == 0 && i%17 != 0 || name[len(name)-5:] == "class" && i%13 != 0 {
				continue
			}
			at := values[i]
			values[i] = at + 1e-6
			up := evaluate(o, step, outputs, many, one, 0.7).Total
			values[i] = at - 1e-6
			down := evaluate(o, step, outputs, many, one, 0.7).Total
			values[i] = at
			require.InDelta(t, (up-down)/2e-6, slope, 2e-7, "%s %d", name, i)
			checked++
		}
	})
	require.Greater(t, checked, 200)
}

func TestLossDoesNotDependOnTheNumberOfProcessors(t *testing.T) {
	outputs, targets := randomOutputs[float32](8, small), randomTargets(8, small, 6)
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

func TestLossRefusesWhatDoesNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(outputs *Outputs[float32], targets *[]Target, alpha *float64)
		want   string
	}{
		"alpha":       {func(_ *Outputs[float32], _ *[]Target, a *float64) { *a = math.NaN() }, "one-to-many weight of NaN"},
		"image count": {func(_ *Outputs[float32], t *[]Target, _ *float64) { *t = (*t)[:1] }, "1 targets for a batch of 2 images; give one per image"},
		"class":       {func(o *Outputs[float32], _ *[]Target, _ *float64) { o.OneToOne.Class = nil }, "one-to-one class output has 0 elements, want 2 x 126 x 3 = 756"},
		"box":         {func(o *Outputs[float32], _ *[]Target, _ *float64) { o.OneToMany.Box = o.OneToMany.Box[1:] }, "one-to-many box output has 1007 elements"},
		// Field case YO-08.
		"label": {func(_ *Outputs[float32], t *[]Target, _ *float64) { (*t)[1].Labels[0] = 3 }, "image 1, object 0: class 3 is outside 0..2"},
	} {
		t.Run(name, func(t *testing.T) {
			outputs, targets, alpha := randomOutputs[float32](1, small), randomTargets(1, small, 3), 0.5
			c.change(&outputs, &targets, &alpha)
			_, err := Loss(newObjective(t), outputs, small, targets, alpha)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Outputs that are not finite, wherever they are, make the total not finite.
func TestBrokenOutputsShowInTheTotal(t *testing.T) {
	for _, targets := range [][]Target{randomTargets(6, small, 4), {{}, {}}} {
		for at := range 4 {
			outputs := randomOutputs[float64](6, small)
			*[]*float64{&outputs.OneToMany.Class[100], &outputs.OneToMany.Box[0], &outputs.OneToOne.Class[7], &outputs.OneToOne.Box[503]}[at] = math.Inf(1)
			result, err := Loss(newObjective(t), outputs, small, targets, 0.5)
			require.NoError(t, err)
			require.False(t, yolo26.Finite([]float64{result.Total}), at)
		}
	}
}
