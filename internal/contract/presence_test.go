package contract_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// parameter describes a parameter of an objective.
type parameter = ir.Parameter

// parametersOf gives the parameters of an objective that a test wraps.
func parametersOf(o trainer.Objective[float32]) []parameter {
	if trained, has := o.(trainer.Trained[float32]); has {
		return trained.Parameters()
	}
	return nil
}

func withValues(o trainer.Objective[float32], values [][]float32) trainer.Objective[float32] {
	if trained, has := o.(trainer.Trained[float32]); has {
		return trained.With(values)
	}
	return o
}

func (f *fixture) parameter(name string) optim.Parameter[float32] {
	f.Helper()
	all, err := f.fit.Learner().Parameters()
	require.NoError(f, err)
	for _, p := range all {
		if p.Name == name {
			return p
		}
	}
	require.FailNow(f, "no parameter "+name)
	return optim.Parameter[float32]{}
}

// snapshot holds one step: the state of every gradient, and values and momentum
// of every parameter after it.
type snapshot struct {
	presence         map[string]string
	values, momentum map[string][]float32
}

func (f *fixture) snapshot() snapshot {
	f.Helper()
	s := snapshot{map[string]string{}, map[string][]float32{}, map[string][]float32{}}
	all, err := f.fit.Learner().Parameters()
	require.NoError(f, err)
	for _, p := range all {
		s.presence[p.Name] = "zero"
		if p.Gradient == nil {
			s.presence[p.Name] = "absent"
		}
		for _, v := range p.Gradient {
			if v != 0 {
				s.presence[p.Name] = "nonzero"
				break
			}
		}
		s.values[p.Name] = append([]float32(nil), p.Value...)
	}
	for _, m := range f.fit.Learner().Momentum() {
		s.momentum[m.Name] = m.Value
	}
	return s
}

// expected is the row of table 4.1 that a parameter of a task has in an empty
// batch (objective section 4.1).
func expected(name string) string {
	for part, state := range map[string]string{
		".keypoint_stems.": "absent", ".coeff_stems.": "absent", "protonet.": "absent",
		".box_stems.": "zero", ".angle_stems.": "zero", "rle_loss.": "zero",
	} {
		if strings.Contains("."+name, part) || strings.HasPrefix(name, part) {
			return state
		}
	}
	return "nonzero"
}

// Objective section 4.3 (i) and (iv), contract section 5 item 3, invariant I4:
// in an empty batch, tensor by tensor, the presence is that of the table; the
// optimizer leaves absent parameters and their momentum alone and moves all
// others; natively and with every stage replayed. Field cases GR-01, GR-02,
// GR-11.
func TestAnEmptyBatchTensorByTensor(t *testing.T) {
	for _, task := range tasks {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			file := writeDataset(t, task)
			var native []snapshot
			for _, capture := range [][]trainer.CaptureOption{nil, full} {
				f := request{task: task, data: file, capture: capture, change: func(o *trainer.Options) { o.StopAfter = 6 }}.begin(t)
				var steps []snapshot
				f.after = func(int) { steps = append(steps, f.snapshot()) }
				require.NoError(t, f.fit.Run(context.Background()))
				f.close()
				checkEmptyStep(t, steps[4], steps[5])
				if native == nil {
					native = steps
				}
				for i := range steps {
					require.Equal(t, native[i].presence, steps[i].presence, "step %d", i)
				}
			}
		})
	}
}

// checkEmptyStep compares the sixth step, whose batch is empty, with the one
// before; by then every parameter has momentum.
func checkEmptyStep(t *testing.T, before, after snapshot) {
	t.Helper()
	counts, moved := map[string]int{}, 0
	for name, state := range after.presence {
		want := expected(name)
		counts[want]++
		require.True(t, state == want || want == "nonzero" && state == "zero" && dead(before.presence, name), "%s is %s, not %s", name, state, want)
		if state == "absent" {
			require.Equal(t, before.values[name], after.values[name], name)
			require.Equal(t, before.momentum[name], after.momentum[name], name)
			continue
		}
		// Momentum decays; a weight near 1 may be too large to show so small a
		// step.
		require.NotEmpty(t, before.momentum[name], name)
		require.True(t, !equal(before.momentum[name], after.momentum[name]) || !any(before.momentum[name]), name)
		if want == "zero" && !equal(before.values[name], after.values[name]) {
			moved++
		}
	}
	require.Greater(t, 2*moved, counts["zero"])
}

// dead tells that a parameter has a derivative of zero in a batch with objects
// too, as some weights behind a dead unit of so small a network.
func dead(presence map[string]string, name string) bool { return presence[name] == "zero" }

func any(values []float32) bool {
	for _, v := range values {
		if v != 0 {
			return true
		}
	}
	return false
}

// Note 10 of objective section 4.1: over a window of a usual and an empty batch,
// absent is the identity. The stems have half the gradient of the usual batch
// alone, exactly, and so has the flow, to which the empty batch adds zeros.
func TestAbsentIsTheIdentityOfAccumulation(t *testing.T) {
	file := writeDataset(t, "pose")
	gradients := func(accumulate int) map[string][]float32 {
		f := request{task: "pose", data: file, change: func(o *trainer.Options) {
			o.Accumulate, o.Clip, o.StopAfter = accumulate, 0, 1
		}}.begin(t)
		out := map[string][]float32{}
		f.after = func(step int) {
			if step != accumulate {
				return
			}
			all, err := f.fit.Learner().Parameters()
			require.NoError(t, err)
			for _, p := range all {
				if strings.Contains(p.Name, "keypoint_stems") || strings.HasPrefix(p.Name, "rle_loss.") {
					out[p.Name] = append([]float32(nil), p.Gradient...)
				}
			}
		}
		require.NoError(t, f.fit.Run(context.Background()))
		f.close()
		return out
	}
	alone, both := gradients(1), gradients(2)
	require.Len(t, both, 84+42)
	for name, gradient := range alone {
		for i, v := range gradient {
			require.Equal(t, v/2, both[name][i], name)
		}
	}
}
