package contract_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// An objective that hands out zeros where the task's own leaves derivatives
// absent is another fit: what a recording without presence patterns would be
// (contract section 5 item 3). The equalities of TestEveryWayIsTheSameFit notice.
func TestZeroForAbsentIsAnotherFit(t *testing.T) {
	for task, output := range map[string]string{"pose": "o2m_keypoint", "segment": "prototypes"} {
		file := writeDataset(t, task)
		_, want := request{task: task, data: file}.run(t)
		_, got := request{task: task, data: file, objective: func(o trainer.Objective[float32]) trainer.Objective[float32] {
			return filling{Objective: o, output: output}
		}}.run(t)
		require.NotEqual(t, want.Hashes.Model, got.Hashes.Model, task)
		require.NotEqual(t, want.Hashes.Optimizer, got.Hashes.Optimizer, task)
	}
}

// filling gives an output zeros where it took no part.
type filling struct {
	trainer.Objective[float32]
	output string
}

func (o filling) Loss(outputs trainer.Outputs[float32], batch *data.Batch, alpha float64) (trainer.Loss[float32], error) {
	loss, err := o.Objective.Loss(outputs, batch, alpha)
	if loss.Cotangents != nil && loss.Cotangents[o.output] == nil {
		loss.Cotangents[o.output] = make([]float32, len(outputs[o.output]))
	}
	return loss, err
}

func (o filling) Parameters() []parameter { return parametersOf(o.Objective) }

func (o filling) With(values [][]float32) trainer.Objective[float32] {
	o.Objective = withValues(o.Objective, values)
	return o
}

// Field case YO-12: an objective that evaluates a second time within a step, as
// after a failure of its own, disturbs nothing that was recorded: outputs are
// only read, and the fit is the same.
func TestARetryInsideTheObjective(t *testing.T) {
	for _, task := range []string{"pose", "segment"} {
		file := writeDataset(t, task)
		_, want := request{task: task, data: file}.run(t)
		f, got := request{task: task, data: file, capture: full, objective: func(o trainer.Objective[float32]) trainer.Objective[float32] {
			return retrying{o}
		}}.run(t)
		require.Equal(t, want, got, task)
		f.checkReplays(ways[len(ways)-1].stages[task])
	}
}

// retrying evaluates everything twice and gives the second result.
type retrying struct{ trainer.Objective[float32] }

func (o retrying) Loss(outputs trainer.Outputs[float32], batch *data.Batch, alpha float64) (trainer.Loss[float32], error) {
	if _, err := o.Objective.Loss(outputs, batch, alpha); err != nil {
		return trainer.Loss[float32]{}, err
	}
	return o.Objective.Loss(outputs, batch, alpha)
}

func (o retrying) Parameters() []parameter { return parametersOf(o.Objective) }

func (o retrying) With(values [][]float32) trainer.Objective[float32] {
	return retrying{withValues(o.Objective, values)}
}
