package objective

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// without is the value of section 4.2: every class logit against 0, W = 1.
func without(branch Branch[float64]) float64 {
	sum := 0.0
	for _, z := range branch.Class {
		sum += math.Log1p(math.Exp(z))
	}
	return sum
}

// requireZeroBoxAndAngle asserts the row of a batch without positives in table
// 4.1: class not zero, box and angle present and exactly zero, none absent.
func requireZeroBoxAndAngle(t *testing.T, cotangents Cotangents[float64]) {
	t.Helper()
	for _, branch := range []Branch[float64]{cotangents.OneToMany, cotangents.OneToOne} {
		require.NotNil(t, branch.Class)
		require.NotNil(t, branch.Box)
		require.NotNil(t, branch.Angle)
		for _, value := range branch.Class {
			require.NotZero(t, value)
		}
		for _, value := range branch.Box {
			require.Zero(t, value)
		}
		for _, value := range branch.Angle {
			require.Zero(t, value)
		}
	}
}

// Sections 4.1 and 4.2, a batch without objects and one whose objects no anchor
// falls into. Field case YO-01.
func TestABatchWithoutPositives(t *testing.T) {
	o := newObjective(t)
	uncovered := target(3, rbox(32, 32, 10, 9.75, 0.75))
	for name, targets := range map[string][]Target{
		"no objects":      {{}, {}},
		"nothing covered": {uncovered, uncovered},
		"mixed":           {uncovered, {}},
	} {
		t.Run(name, func(t *testing.T) {
			outputs := randomOutputs[float64](6, small)
			result, err := Loss(o, outputs, small, targets, 0.8)
			require.NoError(t, err)
			require.Equal(t, Terms{Class: result.OneToMany.Terms.Class}, result.OneToMany.Terms)
			require.Equal(t, Terms{Class: result.OneToOne.Terms.Class}, result.OneToOne.Terms)
			require.InEpsilon(t, without(outputs.OneToMany), result.OneToMany.Terms.Class, 1e-12)
			require.InEpsilon(t, without(outputs.OneToOne), result.OneToOne.Terms.Class, 1e-12)
			require.InEpsilon(t, 0.5*(0.8*result.OneToMany.Terms.Class+0.2*result.OneToOne.Terms.Class), result.Total, 1e-12)
			for _, branch := range []BranchResult{result.OneToMany, result.OneToOne} {
				require.Zero(t, branch.Positives)
				require.Zero(t, branch.Quality)
				require.Equal(t, [][][2]int{{}, {}}, branch.Assigned)
			}
			requireZeroBoxAndAngle(t, result.Cotangents)
		})
	}
}

// Section 4.2, the logits of worked example (a): 1.8263702 for any alpha.
func TestValueWithoutObjectsOfExampleA(t *testing.T) {
	size := Size{Batch: 1, Height: 32, Width: 32, Classes: 2}
	outputs := randomOutputs[float64](1, size)
	for _, branch := range []Branch[float64]{outputs.OneToMany, outputs.OneToOne} {
		// Three anchors have the probabilities of the example, the others none.
		for i := range branch.Class {
			branch.Class[i] = -800
		}
		for i, p := range []float64{.1, .6, .4, .5, .7, .2} {
			branch.Class[i] = math.Log(p / (1 - p))
		}
	}
	for _, alpha := range []float64{0, 0.1, 0.5, 0.8, 1} {
		result, err := Loss(newObjective(t), outputs, size, []Target{{}}, alpha)
		require.NoError(t, err)
		require.InEpsilon(t, 1.8263702, result.Total, 1e-8)
	}
}

// The row of a batch with positives in table 4.1, with notes 1 to 3: one
// positive anywhere makes every output present, and anchors without one have
// zeros in box and angle.
func TestABatchWithPositives(t *testing.T) {
	result, err := Loss(newObjective(t), randomOutputs[float64](6, small), small,
		[]Target{{}, target(3, rbox(33, 30, 24, 10, 0.4))}, 0.5)
	require.NoError(t, err)
	anchors := anchorsOf(small)
	for _, c := range []struct {
		result    BranchResult
		cotangent Branch[float64]
	}{{result.OneToMany, result.Cotangents.OneToMany}, {result.OneToOne, result.Cotangents.OneToOne}} {
		require.Empty(t, c.result.Assigned[0], "the empty image")
		positive := map[int]bool{}
		for _, pair := range c.result.Assigned[1] {
			positive[anchors+pair[0]] = true
		}
		require.NotEmpty(t, positive)
		for _, value := range c.cotangent.Class {
			require.NotZero(t, value)
		}
		require.Len(t, c.cotangent.Angle, 2*anchors)
		for i, value := range c.cotangent.Angle {
			box := c.cotangent.Box[4*i : 4*i+4]
			require.Equal(t, positive[i], value != 0, "angle of anchor %d", i)
			require.Equal(t, positive[i], box[0] != 0 || box[1] != 0 || box[2] != 0 || box[3] != 0, "box of anchor %d", i)
		}
	}
}

// Table 4.1: zero, not absent, when every quality is zero.
func TestPositivesWithoutQuality(t *testing.T) {
	outputs := randomOutputs[float64](6, small)
	for _, branch := range []Branch[float64]{outputs.OneToMany, outputs.OneToOne} {
		for i := range branch.Box {
			branch.Box[i] = -1 // every prediction is inverted
		}
	}
	result, err := Loss(newObjective(t), outputs, small, randomTargets(1, small, 4), 0.5)
	require.NoError(t, err)
	require.Positive(t, result.OneToMany.Positives)
	require.Positive(t, result.OneToOne.Positives)
	require.Zero(t, result.OneToMany.Quality)
	requireZeroBoxAndAngle(t, result.Cotangents)
}

// Note 5: a weight or gain of zero scales to zero and removes nothing.
func TestZeroWeightsScaleAndDoNotRemove(t *testing.T) {
	outputs, targets := randomOutputs[float64](6, small), randomTargets(6, small, 4)
	for alpha, silent := range map[float64]func(Cotangents[float64]) Branch[float64]{
		0: func(c Cotangents[float64]) Branch[float64] { return c.OneToMany },
		1: func(c Cotangents[float64]) Branch[float64] { return c.OneToOne },
	} {
		result, err := Loss(newObjective(t), outputs, small, targets, alpha)
		require.NoError(t, err)
		branch := silent(result.Cotangents)
		for _, values := range [][]float64{branch.Class, branch.Box, branch.Angle} {
			require.NotNil(t, values)
			for _, value := range values {
				require.Zero(t, value)
			}
		}
	}

	options := DefaultOptions()
	options.Gains = Gains{}
	o, err := New(options)
	require.NoError(t, err)
	result, err := Loss(o, outputs, small, targets, 0.5)
	require.NoError(t, err)
	require.Zero(t, result.Total)
	require.Positive(t, result.OneToMany.Terms.Rotated, "the term is still computed")
	result.Cotangents.each(func(name string, values []float64) {
		require.NotNil(t, values, name)
		for _, value := range values {
			require.Zero(t, value, name)
		}
	})
}

// Note 6: in the end the box derivative comes from the oriented terms only.
func TestAxisAlignedTermsAreDiagnostics(t *testing.T) {
	options := DefaultOptions()
	options.Gains.Rotated, options.Gains.RotatedL1 = 0, 0
	o, err := New(options)
	require.NoError(t, err)
	result, err := Loss(o, randomOutputs[float64](6, small), small, randomTargets(6, small, 4), 0.5)
	require.NoError(t, err)
	require.Positive(t, result.OneToMany.Terms.Box)
	require.Positive(t, result.OneToMany.Terms.L1)
	for _, value := range result.Cotangents.OneToMany.Box {
		require.Zero(t, value)
	}
}

// Field case YO-02: a background batch between two others is an ordinary step,
// with every cotangent for the optimizer.
func TestABackgroundBatchIsNotSkipped(t *testing.T) {
	o := newObjective(t)
	for step, targets := range [][]Target{randomTargets(1, small, 3), {{}, {}}, randomTargets(2, small, 3)} {
		result, err := Loss(o, randomOutputs[float32](uint64(step), small), small, targets, 0.5)
		require.NoError(t, err)
		require.Positive(t, result.Total)
		result.Cotangents.each(func(name string, values []float32) { require.NotNil(t, values, name) })
	}
}

// Field case YO-16: of a square, the overlap says nothing about the angle; its
// derivative is zero and present. The angle term still has its say.
func TestSquareTargets(t *testing.T) {
	size := Size{Batch: 1, Height: 64, Width: 64, Classes: 1}
	outputs := randomOutputs[float64](6, size)
	for _, branch := range []Branch[float64]{outputs.OneToMany, outputs.OneToOne} {
		for i := range branch.Box {
			branch.Box[i] = 2.5 // 40 x 40 at stride 8
		}
		for i := range branch.Angle {
			branch.Angle[i] = 0.3
		}
	}
	targets := []Target{target(1, rbox(28, 28, 40, 40, 1.1))}
	options := DefaultOptions()
	options.Gains.Angle = 0
	silent, err := New(options)
	require.NoError(t, err)
	result, err := Loss(silent, outputs, size, targets, 0.5)
	require.NoError(t, err)
	require.NotNil(t, result.Cotangents.OneToMany.Angle)
	for _, value := range result.Cotangents.OneToMany.Angle {
		require.InDelta(t, 0, value, 1e-6)
	}
	result, err = Loss(newObjective(t), outputs, size, targets, 0.5)
	require.NoError(t, err)
	require.Greater(t, math.Abs(result.Cotangents.OneToMany.Angle[result.OneToMany.Assigned[0][0][0]]), 1e-6)
}
