package trainer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// scaleStage defines a stage whose output is a number, its one weight, times its
// input of one channel.
func scaleStage(name, in, out string, options ...stage.InputOption) *stage.Definition {
	return stage.Define(name, func(b *stage.Builder) {
		channels := stage.Size(1)
		if in == trainer.ImageInput {
			channels = 3
		}
		x := b.Input(in, stage.Shape{stage.Batch, channels, stage.Height, stage.Width}, options...)
		b.Output(out, b.Scope(name).Conv2d(x, stage.Conv{Out: 1}))
	})
}

// loadStages loads definitions in a fit and starts every weight with a number.
func loadStages(t *testing.T, capture bool, weights []float64, definitions ...*stage.Definition) []*replay.Stage {
	t.Helper()
	dev := host.Open(host.Options{})
	fit, err := replay.NewFit(dev, replay.Settings{Precision: device.Float64})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, fit.Close())
		require.NoError(t, dev.Close())
	})
	for i, d := range definitions {
		defined, err := d.Build()
		require.NoError(t, err)
		plan, err := pass.Run(defined, nil)
		require.NoError(t, err)
		s, err := fit.AddStage(plan, replay.StageOptions{Capture: capture})
		require.NoError(t, err)
		values := make([]float64, device.Elements(plan.Parameters[0].Shape))
		for k := range values {
			values[k] = weights[i]
		}
		require.NoError(t, s.Parameter(0).WriteFloat64(values))
	}
	return fit.Stages()
}

// fork is a base whose output two stages read.
func fork(t *testing.T, capture bool) (*trainer.Network, []*replay.Stage) {
	t.Helper()
	stages := loadStages(t, capture, []float64{1, 2, 3},
		scaleStage("base", trainer.ImageInput, "middle"),
		scaleStage("left", "middle", "a", stage.Differentiable()),
		scaleStage("right", "middle", "b", stage.Differentiable()))
	network, err := trainer.NewNetwork(stages)
	require.NoError(t, err)
	return network, stages
}

// The cotangent of an output is the objective's plus the input gradients of the
// stages that read it; what is absent adds nothing, and a stage without any
// cotangent has no backward pass and absent gradients. So natively and replayed.
func TestCotangentsOfSharedOutputs(t *testing.T) {
	image := replay.Float64s([]float64{1, 2, 10, 20, 100, 200}, 1, 3, 1, 2)
	value := func(v ...float64) replay.Source { return replay.Float64s(v, 1, 1, 1, 2) }
	for _, capture := range []bool{false, true} {
		network, stages := fork(t, capture)
		for _, c := range []struct {
			cotangents map[string]replay.Source
			middle     []float64 // the cotangent of middle; nil: absent
			present    [3]bool
		}{
			{map[string]replay.Source{"a": value(1, 2), "b": value(5, 7)}, []float64{2 + 15, 4 + 21}, [3]bool{true, true, true}},
			{map[string]replay.Source{"a": value(1, 2)}, []float64{2, 4}, [3]bool{true, true, false}},
			{map[string]replay.Source{"b": value(5, 7)}, []float64{15, 21}, [3]bool{true, false, true}},
			{nil, nil, [3]bool{}},
			{map[string]replay.Source{"middle": value(1, 1)}, []float64{1, 1}, [3]bool{true, false, false}},
			{map[string]replay.Source{"middle": value(1, 1), "a": value(1, 2), "b": value(5, 7)}, []float64{18, 26}, [3]bool{true, true, true}},
			{map[string]replay.Source{"middle": value(1, 1), "b": value(5, 7)}, []float64{16, 22}, [3]bool{true, false, true}},
		} {
			outputs, err := network.Forward(image)
			require.NoError(t, err)
			require.Len(t, outputs, 2, "middle is read by stages")
			got := make([]float64, 2)
			require.NoError(t, outputs["b"].ReadFloat64(got))
			require.Equal(t, []float64{333, 666}, got)
			for _, s := range stages {
				s.ClearGradients()
			}
			require.NoError(t, network.Backward(c.cotangents))
			for i, s := range stages {
				_, presence := s.Gradient(0)
				require.Equal(t, c.present[i], bool(presence), s.Plan().Name)
			}
			if c.middle == nil {
				continue
			}
			gradient, _ := stages[0].Gradient(0)
			weights := make([]float64, 3)
			require.NoError(t, gradient.ReadFloat64(weights))
			sum := c.middle[0] + 2*c.middle[1]
			require.Equal(t, []float64{sum, 10 * sum, 100 * sum}, weights)
		}
		require.ErrorContains(t, network.Backward(map[string]replay.Source{"c": value(1, 2)}), `a cotangent of "c", which no stage has as an output`)
		_, err := network.Forward(image)
		require.NoError(t, err)
		require.ErrorContains(t, network.Backward(map[string]replay.Source{"middle": replay.Float64s([]float64{1}, 1, 1, 1, 1), "a": value(1, 2)}),
			"stage base: cotangent of middle: middle has shape [1 1 1 2], the values have [1 1 1 1]")
	}
}

// Evaluation leaves a training step alone (guard G9) and runs all stages.
func TestEvaluationBetweenForwardAndBackward(t *testing.T) {
	network, stages := fork(t, true)
	image := replay.Float64s([]float64{1, 2, 10, 20, 100, 200}, 1, 3, 1, 2)
	_, err := network.Forward(image)
	require.NoError(t, err)
	outputs, err := network.Evaluate(replay.Float64s(make([]float64, 3), 1, 3, 1, 1))
	require.NoError(t, err)
	got := make([]float64, 1)
	require.NoError(t, outputs["a"].ReadFloat64(got))
	require.Zero(t, got[0])
	require.NoError(t, network.Backward(map[string]replay.Source{"a": replay.Float64s([]float64{1, 0}, 1, 1, 1, 2)}))
	gradient, _ := stages[0].Gradient(0)
	weights := make([]float64, 3)
	require.NoError(t, gradient.ReadFloat64(weights))
	require.Equal(t, []float64{2, 20, 200}, weights)
}

func TestNetworksThatDoNotJoin(t *testing.T) {
	base := scaleStage("base", trainer.ImageInput, "middle")
	for want, definitions := range map[string][]*stage.Definition{
		"stage left: no earlier stage gives its input middle; run the stages in the order of their definition":                            {scaleStage("left", "middle", "a", stage.Differentiable()), base},
		"stage left: its input middle comes from stage base but has no gradient; declare it with stage.Differentiable and generate again": {base, scaleStage("left", "middle", "a")},
		"stage right: the output a has the name of an earlier output or of the images; rename one":                                        {base, scaleStage("left", "middle", "a", stage.Differentiable()), scaleStage("right", "middle", "a", stage.Differentiable())},
		"stage left: the output image has the name of an earlier output or of the images; rename one":                                     {base, scaleStage("left", "middle", "image", stage.Differentiable())},
	} {
		_, err := trainer.NewNetwork(loadStages(t, false, []float64{1, 1, 1}, definitions...))
		require.EqualError(t, err, want)
	}
}
