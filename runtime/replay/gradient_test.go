package replay

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// eachWay runs a test natively and replayed; both must meet the same demands.
func eachWay(t *testing.T, test func(*testing.T, *rig)) {
	for name, options := range map[string]StageOptions{"native": {}, "replay": capture} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Settings{}, options)
			test(t, r)
			if options.Capture {
				require.Positive(t, r.report().Replayed)
			}
			r.close()
		})
	}
}

// Field case GR-01: a parameter that feeds only an output that the objective
// did not use has an absent gradient.
func TestUnusedOutputLeavesGradientAbsent(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		r.forward(1)
		r.backward(number(1), nil)
		a, presence := r.gradient(0)
		require.Equal(t, Present, presence)
		require.EqualValues(t, 4, a)
		_, presence = r.gradient(1)
		require.Equal(t, Absent, presence)
	})
}

// Field case GR-02: a zero cotangent makes a gradient that is present and zero.
func TestZeroGradientIsPresent(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		r.forward(1)
		r.backward(number(1), number(0))
		b, presence := r.gradient(1)
		require.Equal(t, Present, presence)
		require.Zero(t, b)
	})
}

// Field case GR-08: clearing to absent between steps neither doubles nor loses
// a gradient.
func TestClearBetweenSteps(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		for range 3 {
			r.stage.ClearGradients()
			_, presence := r.gradient(0)
			require.Equal(t, Absent, presence)
			r.forward(0.25)
			r.backward(number(1), nil)
			a, presence := r.gradient(0)
			require.Equal(t, Present, presence)
			require.EqualValues(t, 1, a)
		}
	})
}

// Backward passes without clearing add up, and absent plus x is x.
func TestGradientsAddUp(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		r.forward(1)
		r.backward(number(1), nil)
		r.forward(1)
		r.backward(number(2), number(3))
		a, _ := r.gradient(0)
		b, _ := r.gradient(1)
		require.EqualValues(t, 4+8, a)
		require.EqualValues(t, 12, b)
		r.forward(1)
		r.backward(nil, nil)
		again, presence := r.gradient(0)
		require.Equal(t, Present, presence)
		require.Equal(t, a, again, "a pass that uses no output changes no gradient")
	})
}

// A gradient saved in the middle of an accumulation window takes part in the
// rest of it.
func TestRestoreGradient(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		require.NoError(t, r.stage.RestoreGradient(0, Float32s([]float32{10}, 1)))
		restored, presence := r.gradient(0)
		require.Equal(t, Present, presence)
		require.EqualValues(t, 10, restored)
		r.forward(1)
		r.backward(number(1), nil)
		a, _ := r.gradient(0)
		require.EqualValues(t, 14, a)

		require.ErrorContains(t, r.stage.RestoreGradient(2, Float32s(values(1, 8), 8)), "no output reaches pair.unused")
		require.ErrorContains(t, r.stage.RestoreGradient(1, Float32s(values(1, 2), 2)), "gradient of pair.b: it has shape [2], the parameter has [1]")
		require.ErrorContains(t, r.stage.RestoreGradient(1, Float32s(values(1, 2), 1)), "2 values for shape [1]")
		require.ErrorContains(t, r.stage.RestoreGradient(1, Source{}), "gradient of pair.b")
		require.NoError(t, r.stage.SetTrainable("pair.b", false))
		require.ErrorContains(t, r.stage.RestoreGradient(1, Float32s(values(1, 1), 1)), "pair.b is frozen")
		_, presence = r.gradient(1)
		require.Equal(t, Absent, presence)
	})
}

// Field case GR-06: gradients of 0.25 from 4 micro-batches make 1.0, nothing is
// recorded, also while a warm-up still accumulates less.
func TestAccumulationIsNative(t *testing.T) {
	r := newRig(t, Settings{Accumulate: 4}, capture)
	for range 4 {
		r.forward(0.0625)
		r.backward(number(1), nil)
	}
	a, _ := r.gradient(0)
	require.EqualValues(t, 1, a)
	got := r.report()
	require.Zero(t, got.Recorded)
	require.Zero(t, got.Replayed)
	require.Equal(t, map[string]int{"G2 gradient accumulation 4": 4}, reasons(got))
	r.close()
}

// Field case GR-07: the optimizer reads and writes the memory that the recorded
// backward pass fills, and the weight that the next replay uses.
func TestOptimizerSeesTheRecordedGradient(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		r.forward(0.25)
		r.backward(number(1), nil)
		g, _ := r.stage.Gradient(0)
		p := r.stage.Parameter(0)
		require.NoError(t, p.WriteFloat32([]float32{read(t, p)[0] - 0.1*read(t, g)[0]}))
		require.InDelta(t, 0.9, read(t, r.stage.Parameter(0))[0], 1e-7)
		out := r.forward(1)
		require.InDelta(t, 0.9, read(t, out[0])[0], 1e-7)
	})
}

// Field case GR-09: an unused parameter has an absent gradient in both ways and
// is part of the signature.
func TestUnusedParameter(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		for range 5 {
			r.step(1)
			_, presence := r.gradient(2)
			require.Equal(t, Absent, presence)
		}
		require.Equal(t, values(1, 8), read(t, r.stage.Parameter(2)))
		signature, _ := r.stage.Signature()
		require.Contains(t, signature.Parameters, ParameterSignature{Name: "pair.unused", Trainable: true})
	})
}

// Field case GR-10: a cotangent of an earlier step is never read again.
func TestNoTraceOfEarlierCotangents(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		r.forward(1)
		r.backward(number(1), number(5))
		r.stage.ClearGradients()
		r.forward(1)
		r.backward(number(1), nil)
		a, _ := r.gradient(0)
		require.EqualValues(t, 4, a)
		_, presence := r.gradient(1)
		require.Equal(t, Absent, presence)
	})
}

// Invariant I12, and what a caller can get wrong around Backward.
func TestBackwardRefuses(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		_, err := r.stage.Cotangent(0)
		require.ErrorContains(t, err, "run Forward first")
		require.ErrorContains(t, r.stage.Backward(make([]Source, 2)), "backward without a forward pass")
		r.forward(1)
		require.ErrorContains(t, r.stage.Backward(make([]Source, 1)), "1 cotangents given, it has 2 outputs")
		require.ErrorContains(t, r.stage.Backward([]Source{{}, image(1, 1, 2)}), "no backward program for cotangents of only o2")
		require.ErrorContains(t, r.stage.Backward([]Source{image(1, 1, 4), {}}), "cotangent of o1: stage pair: o1 has shape [1 1 4 4]")
		r.backward(number(1), number(1))
		require.ErrorContains(t, r.stage.Backward([]Source{image(1, 1, 2), {}}), "second derivative")
	})
}

// Invariant I5: outputs and gradients cannot be kept past the step, and outputs
// cannot be written (field case YO-12).
func TestHandlesEnd(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		first := r.forward(1)
		require.ErrorContains(t, first[0].Zero(), "is an output and cannot be written")
		r.backward(number(1), number(1))
		g, _ := r.stage.Gradient(0)
		require.Equal(t, values(1, 4), read(t, first[0]), "outputs last until the next forward pass")
		r.forward(2)
		require.ErrorContains(t, first[0].ReadFloat32(make([]float32, 4)), "ended with the next forward pass")
		require.Equal(t, []float32{4}, read(t, g), "gradients last until the next backward pass")
		r.backward(number(1), number(1))
		require.ErrorContains(t, g.ReadFloat32(make([]float32, 1)), "ended with the next backward pass")
		require.ErrorContains(t, g.CopyFrom(first[0]), "ended with")
		g, _ = r.stage.Gradient(0)
		require.ErrorContains(t, g.CopyFrom(first[0]), "o1: this handle ended")
		r.stage.ClearGradients()
		require.ErrorContains(t, g.WriteFloat32([]float32{1}), "ended with")
		p := r.stage.Parameter(0)
		require.NoError(t, r.fit.Close())
		require.ErrorContains(t, p.ReadFloat64(make([]float64, 1)), "ended with the fit")
	})
}

// An objective on the device writes cotangents in place; a stage takes outputs
// of another as inputs.
func TestTensorsAsSources(t *testing.T) {
	eachWay(t, func(t *testing.T, r *rig) {
		second, err := r.fit.AddStage(pairPlan("second"), StageOptions{Capture: r.stage.options.Capture})
		require.NoError(t, err)
		out := r.forward(3)
		chained, err := second.Forward([]Source{FromTensor(out[0])})
		require.NoError(t, err)
		require.Equal(t, values(3, 4), read(t, chained[0]))

		c, err := r.stage.Cotangent(0)
		require.NoError(t, err)
		require.NoError(t, c.WriteFloat32(values(2, 4)))
		require.NoError(t, r.stage.Backward([]Source{FromTensor(c), FromTensor((*Tensor)(nil))}))
		a, _ := r.gradient(0)
		require.EqualValues(t, 4*3*2, a)

		r.forward(1)
		_, err = second.Forward([]Source{FromTensor(out[0])})
		require.ErrorContains(t, err, "ended with the next forward pass")
	})
}
