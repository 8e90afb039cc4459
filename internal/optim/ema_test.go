package optim

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func scalar(name string, value float64) Tensor[float64] {
	return Tensor[float64]{Name: name, Value: []float64{value}}
}

func shadowOf(e *EMA[float64]) map[string]float64 {
	state, _ := e.State()
	values := map[string]float64{}
	for _, s := range state {
		values[s.Name] = s.Value[0]
	}
	return values
}

// YOLO26 specification, training section 7.
func TestEMADecay(t *testing.T) {
	o := DefaultEMAOptions()
	for update, want := range map[int]float64{1: 4.99825033e-4, 2: 0.000999400, 10: 0.004987022, 100: 0.048765698,
		1000: 0.393429993, 2000: 0.632057347, 10000: 0.993162727} {
		require.InDelta(t, want, o.DecayAt(update), 6e-10, "update %d", update)
	}
	require.InDelta(t, 0.009851, EMAOptions{Decay: 0.99, Tau: 100}.DecayAt(1), 6e-7)
}

// Field case PO-11: resume continues with the stored count; a lost count would
// almost replace the average by the live weight.
func TestEMAResumeKeepsTheCount(t *testing.T) {
	for updates, want := range map[int]float64{2000: 1.7355175557, 0: 2.9990003} {
		e, err := NewEMA(DefaultEMAOptions(), []Tensor[float64]{scalar("w", 9)})
		require.NoError(t, err)
		require.NoError(t, e.Restore([]Tensor[float64]{scalar("w", 1)}, EMACounters{Updates: updates, Steps: updates}))
		require.NoError(t, e.Step([]Tensor[float64]{scalar("w", 3)}))
		require.InDelta(t, want, shadowOf(e)["w"], 6e-8)
	}
}

// Field case PO-13, floating-point half: batch-norm statistics are averaged
// with the decay of the weights.
func TestEMAAveragesStatistics(t *testing.T) {
	live := scalar("bn.running_mean", 0)
	e, err := NewEMA(EMAOptions{Decay: 0.5, Tau: 1e-6, UpdateEvery: 1}, []Tensor[float64]{live})
	require.NoError(t, err)
	live.Value[0] = 1
	require.NoError(t, e.Step([]Tensor[float64]{live}))
	require.Equal(t, 0.5, shadowOf(e)["bn.running_mean"])
}

func TestEMAUpdateEvery(t *testing.T) {
	live := []Tensor[float64]{scalar("w", 0)}
	options := EMAOptions{Decay: 0.5, Tau: 1e-6, UpdateEvery: 3}
	e, err := NewEMA(options, live)
	require.NoError(t, err)
	live[0].Value[0] = 8
	for range 2 {
		require.NoError(t, e.Step(live))
	}
	require.Zero(t, shadowOf(e)["w"])
	state, counters := e.State()
	require.Equal(t, EMACounters{Updates: 0, Steps: 2}, counters)

	resumed, err := NewEMA(options, live)
	require.NoError(t, err)
	require.NoError(t, resumed.Restore(state, counters))
	require.NoError(t, resumed.Step(live))
	require.Equal(t, 4.0, shadowOf(resumed)["w"], "the phase survives a resume")
}

func TestEMASwapRestoresAfterAFailedEvaluation(t *testing.T) {
	live := []Tensor[float64]{scalar("w", 1)}
	e, err := NewEMA(DefaultEMAOptions(), live)
	require.NoError(t, err)
	live[0].Value[0] = 5
	evaluate := func() (err error) {
		if err := e.Swap(live); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, e.Swap(live)) }()
		require.Equal(t, 1.0, live[0].Value[0])
		return errors.New("evaluation failed")
	}
	require.ErrorContains(t, evaluate(), "evaluation failed")
	require.Equal(t, 5.0, live[0].Value[0])
	require.Equal(t, 1.0, shadowOf(e)["w"])
}

func TestEMARefusesWithoutChange(t *testing.T) {
	live := []Tensor[float64]{scalar("a", 1), scalar("b", 2)}
	e, err := NewEMA(DefaultEMAOptions(), live)
	require.NoError(t, err)
	for want, other := range map[string][]Tensor[float64]{
		`"c" has no moving average`: {scalar("a", 7), scalar("c", 7)},
		"holds 2 tensors":           {scalar("a", 7)},
		"listed twice":              {scalar("a", 7), scalar("a", 7)},
		"has shape [1]":             {scalar("a", 7), {Name: "b", Shape: []int{1}, Value: []float64{7}}},
	} {
		require.ErrorContains(t, e.Step(other), want)
		require.ErrorContains(t, e.Swap(other), want)
		require.Equal(t, 7.0, other[0].Value[0])
		require.Equal(t, map[string]float64{"a": 1, "b": 2}, shadowOf(e))
	}
	require.ErrorContains(t, e.Restore(live, EMACounters{Updates: 2, Steps: 1}), "fewer steps than updates")
	require.ErrorContains(t, e.Restore([]Tensor[float64]{live[0], live[0]}, EMACounters{}), "listed twice")
	for _, o := range []EMAOptions{{Decay: 1, Tau: 1, UpdateEvery: 1}, {Decay: 0.9, UpdateEvery: 1}, {Decay: 0.9, Tau: 1}} {
		_, err := NewEMA(o, live)
		require.Error(t, err)
	}
}
