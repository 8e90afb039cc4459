package trainer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/data"
)

// scaled is an objective with two parameters.
type scaled struct{ values [][]float64 }

func (scaled) Parameters() []ir.Parameter {
	return []ir.Parameter{
		{Name: "loss.gain", Shape: []int{1}, Init: ir.Initialise{Value: 1}},
		{Name: "loss.weight", Shape: []int{2, 3}, Init: ir.Initialise{Bound: 0.5}},
	}
}

func (s scaled) With(values [][]float64) Objective[float64] { return scaled{values} }

func (s scaled) Loss(Outputs[float64], *data.Batch, float64) (Loss[float64], error) {
	return Loss[float64]{Total: s.values[0][0]}, nil
}

func (scaled) Replaced() (string, bool) { return "", false }

func TestParametersOfAnObjective(t *testing.T) {
	own, objective := newOwned[float64](scaled{}, 3)
	require.Equal(t, []float64{1}, own.blocks[0].values)
	require.Len(t, own.blocks[1].values, 6)
	for _, v := range own.blocks[1].values {
		require.True(t, v > -0.5 && v < 0.5 && v != 0)
	}
	again, _ := newOwned[float64](scaled{}, 3)
	require.Equal(t, own.blocks[1].values, again.blocks[1].values)
	other, _ := newOwned[float64](scaled{}, 4)
	require.NotEqual(t, own.blocks[1].values, other.blocks[1].values)

	own.blocks[0].values[0] = 7
	loss, err := objective.Loss(nil, nil, 0)
	require.NoError(t, err)
	require.Equal(t, 7.0, loss.Total, "the objective reads the learner's memory")
}

// Absent, zero and value of gradients over two micro-batches (objective section
// 4.1, note 10).
func TestGradientsOfAnObjectiveAddUp(t *testing.T) {
	own, _ := newOwned[float64](scaled{}, 3)
	require.Nil(t, own.gradient(0))
	require.NoError(t, own.add(map[string][]float64{"loss.gain": {0}}, 0.5))
	require.Equal(t, []float64{0}, own.gradient(0))
	require.Nil(t, own.gradient(1))
	require.NoError(t, own.add(map[string][]float64{"loss.gain": {4}, "loss.weight": make([]float64, 6)}, 0.5))
	require.NoError(t, own.add(map[string][]float64{"loss.gain": {2}}, 0.5))
	require.Equal(t, []float64{3}, own.gradient(0))
	require.Len(t, own.gradient(1), 6)
	own.clear()
	require.Nil(t, own.gradient(0))
	require.NoError(t, own.add(map[string][]float64{"loss.gain": {1}}, 1))
	require.Equal(t, []float64{1}, own.gradient(0), "what was cleared is gone")

	require.ErrorContains(t, own.add(map[string][]float64{"loss.gain": {1, 2}}, 1), "2 derivatives for its parameter loss.gain of 1 elements")
	require.ErrorContains(t, own.add(map[string][]float64{"loss.other": {1}}, 1), "derivatives for 1 parameters, of which it declares 0")
}
