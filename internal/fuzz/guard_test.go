package fuzz

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// twin is one of two fits that do the same; one of them may replay.
type twin struct {
	testing.TB
	device device.Device
	fit    *replay.Fit
	stage  *replay.Stage
	remove func() // the observer, while there is one
}

func newTwin(t testing.TB, capture bool) *twin {
	t.Helper()
	d := openDevice(t)
	fit, err := replay.NewFit(d, replay.Settings{Seed: 3, Batch: 2})
	require.NoError(t, err)
	plan, err := small.Plan()
	require.NoError(t, err)
	s, err := fit.AddStage(plan, replay.StageOptions{Capture: capture})
	require.NoError(t, err)
	return &twin{TB: t, device: d, fit: fit, stage: s}
}

func (w *twin) close() {
	require.NoError(w, w.fit.Close())
	require.Zero(w, w.device.Counters().Recordings)
	require.Zero(w, w.device.Counters().Bytes)
	require.NoError(w, w.device.Close())
}

// step does an event and gives all that can be seen of it.
func (w *twin) step(number uint64, e event) (seen [][]float32, presence []replay.Presence, err error) {
	if !e.between {
		w.change(e)
	}
	forward := w.stage.Forward
	if e.evaluate {
		forward = w.stage.Evaluate
	}
	out, err := forward([]replay.Source{replay.Float32s(noise(number, e.images*3*e.height*e.width), e.images, 3, e.height, e.width)})
	if err != nil {
		return nil, nil, err
	}
	cotangents := make([]replay.Source, len(out))
	for i, o := range out {
		v := make([]float32, device.Elements(o.Shape()))
		require.NoError(w, o.ReadFloat32(v))
		seen = append(seen, v)
		if !e.absent || !w.stage.Plan().Outputs[i].Optional {
			cotangents[i] = replay.Float32s(v, o.Shape()...)
		}
	}
	if e.evaluate {
		return seen, nil, nil
	}
	if e.between {
		w.change(e)
	}
	if err := w.stage.Backward(cotangents); err != nil {
		return seen, nil, err
	}
	gradients, presence := w.descend(!e.keep)
	return append(seen, gradients...), presence, nil
}

// change does what an event changes from outside the stage.
func (w *twin) change(e event) {
	if e.freeze > 0 {
		i := (e.freeze - 1) % len(w.stage.Plan().Parameters)
		require.NoError(w, w.stage.SetTrainable(w.stage.Plan().Parameters[i].Name, !w.stage.Trainable(i)))
	}
	if e.observe && w.remove != nil {
		w.remove()
		w.remove = nil
	} else if e.observe {
		w.remove = w.fit.Observe(func(*replay.Stage, *replay.Tensor) {})
	}
	if e.objective {
		w.stage.SetObjectiveReplaced("classification")
	}
	if e.head {
		w.stage.MarkChanged("another topology")
	}
}

// descend gives the gradients and makes a step of gradient descent. Gradients
// that are not cleared add up with those of the next step.
func (w *twin) descend(clear bool) (seen [][]float32, presence []replay.Presence) {
	for i := range w.stage.Plan().Parameters {
		g, p := w.stage.Gradient(i)
		presence = append(presence, p)
		if p == replay.Absent {
			continue
		}
		v, weights := make([]float32, device.Elements(g.Shape())), make([]float32, device.Elements(g.Shape()))
		require.NoError(w, errors.Join(g.ReadFloat32(v), w.stage.Parameter(i).ReadFloat32(weights)))
		seen = append(seen, v)
		for j := range weights {
			weights[j] -= 1e-3 * v[j]
		}
		require.NoError(w, w.stage.Parameter(i).WriteFloat32(weights))
	}
	if clear {
		w.stage.ClearGradients()
	}
	return seen, presence
}

func noise(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 9))
	v := make([]float32, n)
	for i := range v {
		v[i] = r.Float32() - 0.5
	}
	return v
}

// longestSequence is how many bytes a sequence of steps is made of at most. A step
// takes up to three of them, and the fuzzer gives an input ten seconds.
const longestSequence = 16

// FuzzGuards does random sequences of partial batches, other sizes, evaluation,
// absent cotangents, gradients that add up, frozen parameters, observers, replaced
// objectives and changed heads, before a step or between its passes, on a fit that
// replays and on a native twin: they agree after every step (contract I1 to I4),
// and what is not replayed is exactly what guards G4 to G9 forbid.
func FuzzGuards(f *testing.F) {
	f.Add([]byte{9, 9, 9})
	f.Add([]byte{9, 0, 9, 1, 0, 9, 2, 9, 3, 9})
	f.Add([]byte{9, 9, 5, 9, 5, 9, 9})
	f.Add([]byte{9, 4, 0, 3, 9, 9})
	f.Add([]byte{2, 3, 9, 6, 0, 9, 0, 9})
	f.Add([]byte{0, 1, 1, 9, 3, 3, 9})
	f.Add([]byte{9, 9, 6, 1, 9})
	f.Add([]byte{9, 8, 9, 8, 3, 9, 9})
	f.Add([]byte{9, 7, 1, 9, 7, 1, 9, 7, 0, 9})
	f.Add([]byte{9, 7, 2, 9, 1, 1, 9, 7, 0, 5})
	f.Fuzz(func(t *testing.T, data []byte) {
		native, replayed, expected := newTwin(t, false), newTwin(t, true), newExpectation()
		c := &choices{data[:min(len(data), longestSequence)]}
		for number := uint64(0); len(c.data) > 0; number++ {
			e := eventOf(c)
			want, wantPresence, wantErr := native.step(number, e)
			got, gotPresence, gotErr := replayed.step(number, e)
			require.Equal(t, wantErr == nil, gotErr == nil, "%+v: %v, %v", e, wantErr, gotErr)
			require.Equal(t, want, got, "%+v", e)
			require.Equal(t, wantPresence, gotPresence, "%+v", e)
			expected.add(e)
			require.Equal(t, expected.calls, callsByGuard(replayed.fit), "%+v", e)
		}
		before, err := native.fit.Snapshot()
		require.NoError(t, err)
		after, err := replayed.fit.Snapshot()
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.Zero(t, native.fit.Report().Stages[0].Replayed)
		native.close()
		replayed.close()
	})
}
