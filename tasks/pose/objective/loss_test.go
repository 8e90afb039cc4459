package objective

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/geometry"
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

// Every kind of derivative of the complete loss against central differences, the
// flow included.
func TestLossDerivatives(t *testing.T) {
	o := newObjective(t, func(o *Options) { o.SimilarityGain = 24 })
	o.Box = smoothBox
	outputs, targets := randomOutputs[float64](5, small), randomTargets(5, small, 4)
	flow := randomFlow(6)
	step, err := newStep(o, outputs, small, targets, 0.7)
	require.NoError(t, err)
	many := yolo26.Assign(o.options.OneToMany, step.Grid, 2, outputs.OneToMany.Dense, step.Truth)
	one := yolo26.Assign(o.options.OneToOne, step.Grid, 2, outputs.OneToOne.Dense, step.Truth)
	total := func() float64 {
		r, err := evaluate(step, outputs, many, one, flow, 0.7)
		require.NoError(t, err)
		return r.Total
	}
	result, err := Loss(o, outputs, small, targets, FlowValues[float64](flow), 0.7)
	require.NoError(t, err)
	require.Equal(t, total(), result.Total, "Loss assigns and evaluates")

	cotangents := map[string][]float64{}
	each(result.Cotangents, func(name string, values []float64) { cotangents[name] = values })
	checked := map[string]int{}
	each(outputs, func(name string, values []float64) {
		for i := range values {
			got := cotangents[name][i]
			if got == 0 && i%607 != 0 || got != 0 && i%23 != 0 {
				continue
			}
			require.InDelta(t, slope(&values[i], total), got, 5e-7, "%s %d", name, i)
			checked[name]++
		}
	})
	require.Greater(t, checked["one-to-many keypoint"], 8)
	require.Greater(t, checked["one-to-one keypoint"], 2)
	for i, values := range flow.slices() {
		k := len(values) / 2
		require.InDelta(t, slope(&values[k], total), result.Flow[i][k], 1e-7, FlowParameters()[i].Name)
	}
}

// Section 3: the total from the terms of both branches.
func TestTotalIsTheBlendOfTheTerms(t *testing.T) {
	o := newObjective(t, func(o *Options) { o.SimilarityGain = 24 })
	result, err := Loss(o, randomOutputs[float64](7, small), small, randomTargets(7, small, 4), flowOf[float64](7), 0.8)
	require.NoError(t, err)
	want := 0.0
	for _, b := range []struct {
		Terms
		weight float64
	}{{result.OneToMany.Terms, 0.8}, {result.OneToOne.Terms, 0.2}} {
		want += b.weight * (7.5*b.Box + 0.5*b.Class + 6*b.L1 + b.Keypoint + 24*b.Similarity)
		require.Positive(t, b.Similarity)
		require.NotZero(t, b.Keypoint)
	}
	require.InEpsilon(t, want, result.Total, 1e-12)
}

func TestSinglePrecisionAndProcessors(t *testing.T) {
	outputs, targets, flow := randomOutputs[float32](8, small), randomTargets(8, small, 5), flowOf[float32](8)
	want, err := Loss(newObjective(t), outputs, small, targets, flow, 0.4)
	require.NoError(t, err)
	require.Equal(t, randomOutputs[float32](8, small), outputs, "outputs are read only")
	require.Equal(t, flowOf[float32](8), flow)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, processors := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(processors)
		got, err := Loss(newObjective(t), outputs, small, targets, flow, 0.4)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// Coordinates of a point that is not labelled do not matter, whatever they are.
func TestInvisibleCoordinatesDoNotMatter(t *testing.T) {
	outputs, targets := randomOutputs[float64](9, small), randomTargets(9, small, 4)
	want, err := Loss(newObjective(t), outputs, small, targets, flowOf[float64](9), 0.5)
	require.NoError(t, err)
	for i := range targets {
		for n, visibility := range targets[i].Visibility {
			for k, v := range visibility {
				if v == 0 {
					targets[i].Keypoints[n][k] = geometry.Point{X: math.NaN(), Y: 1e9}
				}
			}
		}
	}
	got, err := Loss(newObjective(t), outputs, small, targets, flowOf[float64](9), 0.5)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestLossRefusesWhatDoesNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *Outputs[float32], t []Target, flow *[][]float32)
		want   string
	}{
		"keypoint output": {func(o *Outputs[float32], _ []Target, _ *[][]float32) { o.OneToOne.Keypoint = nil }, "one-to-one keypoint output has 0 elements, want 2 x 126 x 12"},
		"point count": {func(_ *Outputs[float32], t []Target, _ *[][]float32) { t[1].Keypoints[0] = t[1].Keypoints[0][:2] },
			"image 1, object 0: 2 keypoints and 3 visibilities for a head of 3"},
		"visibility count": {func(_ *Outputs[float32], t []Target, _ *[][]float32) { t[0].Visibility = nil }, "image 0 has 0 visibility lists for"},
		"object count":     {func(_ *Outputs[float32], t []Target, _ *[][]float32) { t[0].Keypoints = nil }, "image 0 has 0 keypoint lists for"},
		"not finite": {func(_ *Outputs[float32], t []Target, _ *[][]float32) {
			t[0].Keypoints[0][1].X, t[0].Visibility[0][1] = math.Inf(1), 1
		}, "image 0, object 0: keypoint 1"},
		"flow":      {func(_ *Outputs[float32], _ []Target, f *[][]float32) { *f = (*f)[1:] }, "41 parameters for a flow that has 42"},
		"flow size": {func(_ *Outputs[float32], _ []Target, f *[][]float32) { (*f)[1] = nil }, "rle_loss.layers.0.0.weight has 0 elements, not 64"},
	} {
		t.Run(name, func(t *testing.T) {
			outputs, targets, flow := randomOutputs[float32](1, small), randomTargets(1, small, 3), flowOf[float32](1)
			c.change(&outputs, targets, &flow)
			_, err := Loss(newObjective(t), outputs, small, targets, flow, 0.5)
			require.ErrorContains(t, err, c.want)
		})
	}
	laplace := newObjective(t, func(o *Options) { o.Form = Laplace })
	_, err := Loss(laplace, randomOutputs[float32](1, small), small, randomTargets(1, small, 3), flowOf[float32](1), 0.5)
	require.ErrorContains(t, err, "a flow is given to the Laplace form")
}

func TestWhatIsNotFiniteShowsInTheTotal(t *testing.T) {
	for _, targets := range [][]Target{randomTargets(6, small, 4), {{}, {}}} {
		outputs := randomOutputs[float64](6, small)
		outputs.OneToMany.Keypoint[1000] = math.NaN()
		result, err := Loss(newObjective(t), outputs, small, targets, flowOf[float64](6), 0.5)
		require.NoError(t, err)
		require.True(t, math.IsNaN(result.Total))

		flow := flowOf[float64](6)
		flow[8][3] = math.Inf(-1)
		result, err = Loss(newObjective(t), randomOutputs[float64](6, small), small, targets, flow, 0.5)
		require.NoError(t, err)
		require.True(t, math.IsNaN(result.Total))
	}
}
