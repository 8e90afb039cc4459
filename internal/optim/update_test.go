package optim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// newUpdate is a fit of one vector weight with plain SGD, so that results can be
// computed by hand.
func newUpdate(t *testing.T, weight []float64, rate LearningRateOptions) (*Update[float64], []Parameter[float64], []Tensor[float64]) {
	t.Helper()
	schedule, err := NewLearningRate(rate)
	require.NoError(t, err)
	live := []Tensor[float64]{{Name: "p", Shape: []int{len(weight)}, Value: weight}}
	average, err := NewEMA(DefaultEMAOptions(), live)
	require.NoError(t, err)
	parameters := []Parameter[float64]{{Name: "p", Shape: []int{len(weight)}, Value: weight}}
	return &Update[float64]{Optimizer: newOptimizer(t, MuSGDOptions{NSSteps: 1}), Rate: schedule, EMA: average}, parameters, live
}

var constantRate = LearningRateOptions{LR: 0.1, LRF: 1, Accumulate: 1}

// Field case PO-01: rates .1 and .01 of two steps are both applied.
func TestUpdateFollowsTheSchedule(t *testing.T) {
	u, p, live := newUpdate(t, []float64{1}, LearningRateOptions{LR: 0.1, LRF: 0.1, MaxEpochs: 1, BatchesPerEpoch: 2, Accumulate: 1})
	for _, want := range []float64{0.9, 0.89} {
		p[0].Gradient = []float64{1}
		_, err := u.Step(p, live)
		require.NoError(t, err)
		require.InDelta(t, want, p[0].Value[0], 1e-15)
	}
}

// Field cases GR-07 and GR-08: the optimizer reads the published gradient, and
// clearing to absent between steps neither doubles nor drops one.
func TestUpdateReadsThePublishedGradient(t *testing.T) {
	u, p, live := newUpdate(t, []float64{1}, constantRate)
	published := []float64{0} // storage that exists before any recording
	for i, want := range []float64{0.9, 0.8, 0.7} {
		require.Nil(t, p[0].Gradient)
		published[0] = 1
		p[0].Gradient = published
		_, err := u.Step(p, live)
		require.NoError(t, err)
		require.InDelta(t, want, p[0].Value[0], 1e-15, "step %d", i)
		require.Equal(t, []float64{1}, published)
		p[0].Gradient = nil
	}
}

// Field cases PO-02 and PO-03: an overflow in step 1 of 3 skips that optimizer
// step and halves the scale; counter, schedule and moving average still advance.
func TestUpdateSkipsAnOverflowedStep(t *testing.T) {
	u, p, live := newUpdate(t, []float64{1}, constantRate)
	u.Scaler = newScaler(t, nil)
	half := func(v float64) float64 { // FP16 overflows above 65504
		if v > 65504 {
			return math.Inf(1)
		}
		return v
	}
	updates := 0
	for step, want := range []struct {
		overflow      bool
		value, scaled float64
	}{{true, 1, 32768}, {false, 0.9, 32768}, {false, 0.8, 32768}} {
		p[0].Gradient = []float64{half(1 * u.Scaler.Scale())}
		outcome, err := u.Step(p, live)
		require.NoError(t, err)
		require.Equal(t, want.overflow, outcome.Overflow)
		require.InDelta(t, want.value, p[0].Value[0], 1e-15)
		require.Equal(t, want.scaled, u.Scaler.Scale())
		if !outcome.Overflow {
			updates++
		}
		_, counters := u.EMA.State()
		require.Equal(t, step+1, u.Steps)
		require.Equal(t, step+1, counters.Updates)
	}
	require.Equal(t, 2, updates)
}

// Clipping comes after unscaling and before the optimizer (YOLO26
// specification, training section 6).
func TestUpdateClips(t *testing.T) {
	u, p, live := newUpdate(t, []float64{0, 0}, constantRate)
	u.Scaler, u.Clip = newScaler(t, nil), 10
	p[0].Gradient = []float64{30 * 65536, 40 * 65536}
	outcome, err := u.Step(p, live)
	require.NoError(t, err)
	require.InDelta(t, 50, outcome.Norm, 1e-12)
	require.InDeltaSlice(t, []float64{-0.6, -0.8}, p[0].Value, 1e-7)
}

func TestClipGlobalNorm(t *testing.T) {
	for _, test := range []struct {
		name      string
		gradients [][]float64
		norm      float64
		want      [][]float64
	}{
		{"above", [][]float64{{30}, nil, {40}}, 50, [][]float64{{30 * 10 / (50 + 1e-6)}, nil, {40 * 10 / (50 + 1e-6)}}},
		{"below", [][]float64{{3}, nil, {4}}, 5, [][]float64{{3}, nil, {4}}},
		{"zero", [][]float64{{0}, nil, {0}}, 0, [][]float64{{0}, nil, {0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p []Parameter[float64]
			for _, g := range test.gradients {
				p = append(p, Parameter[float64]{Gradient: g})
			}
			require.InDelta(t, test.norm, ClipGlobalNorm(p, 10), 1e-12)
			for i := range p {
				require.Equal(t, test.want[i] == nil, p[i].Gradient == nil)
				require.InDeltaSlice(t, test.want[i], p[i].Gradient, 1e-15)
			}
		})
	}
}

// Field case YO-02: an empty batch in the middle is a step like the others; a
// parameter that took no part in it keeps its value and momentum, and the
// others move.
func TestUpdateStepsOnAnEmptyBatch(t *testing.T) {
	u, p, live := newUpdate(t, []float64{1}, constantRate)
	stem := Parameter[float64]{Name: "stem", Shape: []int{1}, Value: []float64{1}}
	p = append(p, stem)
	live = append(live, Tensor[float64]{Name: "stem", Shape: []int{1}, Value: stem.Value})
	require.NoError(t, u.EMA.Restore(live, EMACounters{}))
	for _, objects := range []int{2, 0, 1} {
		p[0].Gradient, p[1].Gradient = []float64{1}, nil
		if objects > 0 {
			p[1].Gradient = []float64{1}
		}
		_, err := u.Step(p, live)
		require.NoError(t, err)
	}
	require.Equal(t, 3, u.Steps)
	require.InDelta(t, 0.7, p[0].Value[0], 1e-15)
	require.InDelta(t, 0.8, p[1].Value[0], 1e-15)
}

func TestUpdateReportsTheStepOfAnError(t *testing.T) {
	u, p, live := newUpdate(t, []float64{1}, constantRate)
	u.Steps = 7
	p[0].Gradient = []float64{1, 2}
	_, err := u.Step(p, live)
	require.ErrorContains(t, err, "step 7: parameter \"p\"")
	p[0].Gradient = []float64{1}
	_, err = u.Step(p, nil)
	require.ErrorContains(t, err, "step 7: moving average")
}
