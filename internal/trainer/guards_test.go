package trainer_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/data"
	"github.com/reprise-ml/reprise/internal/trainer"
	"github.com/reprise-ml/reprise/runtime/replay"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Guard G5, field cases GR-03 and YO-21: a parameter that is frozen in the
// middle of a fit stays as it is, its gradient is absent, the stage is native
// from then on, and the statistics of its layer move as natively.
func TestParameterFrozenInTheMiddle(t *testing.T) {
	const name = "backbone.stem.conv.weight"
	run := func(change func(*config.Settings)) (*fixture[float32], outcome) {
		f := start[float32]{settings: settings(t, change)}.begin(t)
		var frozen []float32
		f.after = func(step int) {
			if step == 5 {
				require.NoError(t, f.fit.Stages()[0].SetTrainable(name, false))
				frozen = f.parameter(name)
			}
			if step > 5 {
				require.Equal(t, frozen, f.parameter(name))
				require.Nil(t, f.presence()[name])
			}
		}
		require.NoError(t, f.fit.Run(context.Background()))
		out := f.outcome()
		f.close()
		return f, out
	}
	_, native := run(nil)
	replayed, got := run(captured())
	require.Equal(t, native, got)
	require.NotEqual(t, reference(t).Hashes.Model, native.Hashes.Model)
	require.Equal(t, 4, replayed.report().Replayed)
	require.Equal(t, map[string]int{"G4 partial batch": 2, "G5 frozen parameter " + name: 2}, replayed.reasons())
}

// parameter copies the values of a parameter.
func (f *fixture[T]) parameter(name string) []T {
	f.Helper()
	live, err := f.fit.Learner().Live()
	require.NoError(f, err)
	for _, p := range live {
		if p.Name == name {
			return append([]T(nil), p.Value...)
		}
	}
	require.Failf(f, "no parameter", "%s", name)
	return nil
}

// presence gives the published gradients by parameter, nil where absent, as
// copies.
func (f *fixture[T]) presence() map[string][]T {
	f.Helper()
	parameters, err := f.fit.Learner().Parameters()
	require.NoError(f, err)
	out := map[string][]T{}
	for _, p := range parameters {
		out[p.Name] = append([]T(nil), p.Gradient...)
		if p.Gradient == nil {
			out[p.Name] = nil
		}
	}
	return out
}

// Guard G8: while an observer is registered the steps are native and whole and
// it sees every output; replay goes on with the same recording afterwards.
func TestObserverForSomeSteps(t *testing.T) {
	f := start[float32]{settings: settings(t, captured())}.begin(t)
	seen := map[string]int{}
	var remove func()
	f.after = func(step int) {
		switch step {
		case 4:
			var err error
			remove, err = f.fit.Stages()[0].Observe("", func(value *replay.Tensor) { seen[value.Name()]++ })
			require.NoError(t, err)
		case 6:
			remove()
		}
	}
	require.NoError(t, f.fit.Run(context.Background()))
	require.Equal(t, reference(t), f.outcome())
	f.close()
	require.Len(t, seen, 6)
	for name, times := range seen {
		require.GreaterOrEqual(t, times, 2, name)
	}
	require.Equal(t, map[string]int{"G4 partial batch": 2, "G8 observer registered": 2}, f.reasons())
	require.Equal(t, 1, f.report().Recorded)
	require.Equal(t, 4, f.report().Replayed)
}

// Guard G7, field cases YO-22 and LC-06: an objective whose functions were
// replaced is used, found by identity, and keeps the fit native with one
// warning. Its terms are twice the usual ones, so the first loss is too.
func TestObjectiveReplaced(t *testing.T) {
	twice := func(term yolo26.OrientedTerm) yolo26.OrientedTerm {
		return func(rows []yolo26.OrientedRow) (float64, [][5]float64) {
			value, gradient := term(rows)
			for i := range gradient {
				for k := range gradient[i] {
					gradient[i][k] *= 2
				}
			}
			return 2 * value, gradient
		}
	}
	doubled := func(o trainer.Objective[float32]) trainer.Objective[float32] {
		own := o.(catalog.ObbObjective[float32]).Objective
		class := own.Class
		own.Class = func(logits, targets, slopes []float64) float64 {
			value := class(logits, targets, slopes)
			for i := range slopes {
				slopes[i] *= 2
			}
			return 2 * value
		}
		own.Rotated, own.RotatedL1, own.Angle = twice(own.Rotated), twice(own.RotatedL1), twice(own.Angle)
		return o
	}
	_, native := start[float32]{settings: settings(t, nil), objective: doubled}.run(t)
	replayed, got := start[float32]{settings: settings(t, captured()), objective: doubled}.run(t)
	require.Equal(t, native, got)
	require.Equal(t, 2*reference(t).Losses[0], got.Losses[0])
	require.Zero(t, replayed.report().Replayed)
	require.Zero(t, replayed.report().Recorded)
	const why = "objective overridden: classification loss"
	require.Equal(t, map[string]int{"G4 partial batch": 2, "G7 " + why: 6}, replayed.reasons())
	require.Equal(t, []string{"warning: capture_network was asked for but nothing of stage network was replayed: partial batch, " + why}, replayed.warnings())
}

// withoutAngles is an objective that gives the angles no cotangent. own tells
// whether it passes for the task's own objective.
type withoutAngles struct {
	trainer.Objective[float32]
	own bool
}

func (o withoutAngles) Loss(outputs trainer.Outputs[float32], batch *data.Batch, alpha float64) (trainer.Loss[float32], error) {
	loss, err := o.Objective.Loss(outputs, batch, alpha)
	delete(loss.Cotangents, "o2m_angle")
	delete(loss.Cotangents, "o2o_angle")
	return loss, err
}

func (o withoutAngles) Replaced() (string, bool) { return "without angles", !o.own }

// Contract section 5 number 4, field cases GR-01 and LC-06: an objective that
// leaves the angles out leaves their stems with absent gradients, unmoved and
// without momentum. Guard G7 keeps such a fit native; were the guard bypassed,
// the recording would still leave the gradients absent, by its own program.
func TestObjectiveWithoutAngles(t *testing.T) {
	run := func(change func(*config.Settings), own bool) (*fixture[float32], outcome) {
		objective := func(o trainer.Objective[float32]) trainer.Objective[float32] { return withoutAngles{o, own} }
		f := start[float32]{settings: settings(t, change), objective: objective}.begin(t)
		before := f.angles()
		require.Equal(t, 84, len(before))
		f.after = func(int) {
			for name, gradient := range f.presence() {
				require.Equal(t, isAngle(name), gradient == nil, name)
			}
		}
		require.NoError(t, f.fit.Run(context.Background()))
		require.True(t, reflect.DeepEqual(before, f.angles()), "an absent gradient moves nothing")
		for _, m := range f.fit.Learner().Momentum() {
			require.False(t, isAngle(m.Name), m.Name)
		}
		out := f.outcome()
		f.close()
		return f, out
	}
	_, native := run(nil, false)
	guarded, got := run(captured(), false)
	require.Equal(t, native, got)
	require.Zero(t, guarded.report().Replayed, "the guard holds")
	require.Equal(t, 6, guarded.reasons()["G7 objective overridden: without angles"])
	bypassed, got := run(captured(), true)
	require.Equal(t, native, got)
	require.Equal(t, 6, bypassed.report().Replayed)
}

// angles copies the parameters of the angle stems.
func (f *fixture[T]) angles() map[string][]T {
	f.Helper()
	parameters, err := f.fit.Learner().Parameters()
	require.NoError(f, err)
	out := map[string][]T{}
	for _, p := range parameters {
		if isAngle(p.Name) {
			out[p.Name] = append([]T(nil), p.Value...)
		}
	}
	return out
}

func isAngle(name string) bool { return strings.Contains(name, ".angle_stems.") }

// Invariant I4, contract section 5 number 3, field cases GR-02 and YO-01: after
// every step the gradients are those of the native fit, tensor by tensor. A
// batch without positives gives the box and angle stems zero gradients, which
// are present.
func TestGradientPresenceEqualsNative(t *testing.T) {
	trace := func(change func(*config.Settings)) (out []map[string][]float32) {
		f := start[float32]{settings: settings(t, change), stopAfter: batches}.begin(t)
		f.after = func(int) { out = append(out, f.presence()) }
		require.NoError(t, f.fit.Run(context.Background()))
		f.close()
		return out
	}
	native := trace(nil)
	require.True(t, reflect.DeepEqual(native, trace(captured())))
	require.Equal(t, batches, len(native))
	for step, gradients := range native {
		zero, all := 0, 0
		for name, gradient := range gradients {
			require.NotNil(t, gradient, "step %d, %s", step, name)
			stem := isAngle(name) || strings.Contains(name, ".box_stems.")
			if stem {
				all++
			}
			if isZero(gradient) {
				zero++
				require.True(t, stem, "step %d, %s", step, name)
			}
		}
		require.Equal(t, step == 1 || step == 2, zero == all, "step %d has %d zero gradients of %d stems", step, zero, all)
	}
}

func isZero(values []float32) bool {
	for _, v := range values {
		if v != 0 {
			return false
		}
	}
	return true
}
