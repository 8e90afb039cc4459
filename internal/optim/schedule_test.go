package optim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// YOLO26 specification, training section 5. Field case PO-01: the rate of a
// step is a function of the step alone.
func TestLearningRateFactor(t *testing.T) {
	for _, test := range []struct {
		name    string
		options LearningRateOptions
		want    map[int]float64
	}{
		{"warm-up and decay", LearningRateOptions{LR: 0.01, LRF: 0.01, WarmupEpochs: 1, MaxEpochs: 10, BatchesPerEpoch: 10, Accumulate: 1},
			map[int]float64{0: 0.1, 5: 0.6, 9: 1, 10: 1, 11: 0.988876, 55: 0.499438, 98: 0.021124, 99: 0.01, 100: 0.01, 1000: 0.01}},
		{"no warm-up", LearningRateOptions{LR: 0.01, LRF: 0.5, MaxEpochs: 10, BatchesPerEpoch: 10, Accumulate: 1},
			map[int]float64{0: 1, 99: 0.5}},
		{"accumulation rounds the steps of an epoch up", LearningRateOptions{LR: 1, LRF: 0.5, MaxEpochs: 2, BatchesPerEpoch: 10, Accumulate: 4},
			map[int]float64{0: 1, 4: 0.6, 5: 0.5, 6: 0.5}}, // 2*ceil(10/4) = 6 steps
		{"growing accumulation: the final rate comes with the last of 6 steps, of which the first epoch takes 3",
			LearningRateOptions{LR: 1, LRF: 0.5, WarmupEpochs: 1, MaxEpochs: 4, BatchesPerEpoch: 4, Accumulate: 4, AccumulateWarmupEpochs: 2},
			map[int]float64{0: 1. / 3, 1: 2. / 3, 2: 1, 3: 1, 4: 0.75, 5: 0.5, 6: 0.5}},
		{"growing accumulation, a warm-up longer than the fit",
			LearningRateOptions{LR: 1, LRF: 0.5, WarmupEpochs: 1e300, MaxEpochs: 4, BatchesPerEpoch: 4, Accumulate: 4, AccumulateWarmupEpochs: 2},
			map[int]float64{0: 1. / 5, 4: 1, 5: 1, 6: 0.5}},
		{"growing accumulation, a fit of less than a step", LearningRateOptions{LR: 1, LRF: 0.5, MaxEpochs: 4, Accumulate: 4, AccumulateWarmupEpochs: 2},
			map[int]float64{0: 1}},
		{"a warm-up to 1 is none", LearningRateOptions{LR: 0.01, LRF: 0.5, MaxEpochs: 10, BatchesPerEpoch: 10, Accumulate: 1, AccumulateWarmupEpochs: 5},
			map[int]float64{0: 1, 99: 0.5}},
		{"half to even down", LearningRateOptions{LR: 1, LRF: 1, WarmupEpochs: 0.25, MaxEpochs: 1, BatchesPerEpoch: 10, Accumulate: 1},
			map[int]float64{0: 0.5, 1: 1, 2: 1}}, // 2.5 -> 2
		{"half to even up", LearningRateOptions{LR: 1, LRF: 1, WarmupEpochs: 0.35, MaxEpochs: 1, BatchesPerEpoch: 10, Accumulate: 1},
			map[int]float64{0: 0.25, 3: 1}}, // 3.5 -> 4
		{"warm-up stays below the total", LearningRateOptions{LR: 1, LRF: 0.1, WarmupEpochs: 9, MaxEpochs: 2, BatchesPerEpoch: 2, Accumulate: 1},
			map[int]float64{0: 1. / 3, 2: 1, 3: 1, 4: 0.1}},
		{"one step", LearningRateOptions{LR: 1, LRF: 0.1, WarmupEpochs: 1, MaxEpochs: 1, BatchesPerEpoch: 1, Accumulate: 1},
			map[int]float64{0: 1, 1: 0.1}},
		{"no budget", LearningRateOptions{LR: 1, LRF: 0.1, WarmupEpochs: 3, BatchesPerEpoch: 7, Accumulate: 1},
			map[int]float64{0: 1, 1000: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := NewLearningRate(test.options)
			require.NoError(t, err)
			for k, want := range test.want {
				require.InDelta(t, want, s.Factor(k), 6e-7, "step %d", k)
				require.InDelta(t, want*test.options.LR, s.Rate(k), 6e-7)
			}
		})
	}
}

func TestLearningRateConstant(t *testing.T) {
	for constant, options := range map[bool]LearningRateOptions{
		true:  {LR: 0.01, LRF: 1, MaxEpochs: 100, BatchesPerEpoch: 25, Accumulate: 1},
		false: {LR: 0.01, LRF: 1, WarmupEpochs: 1, MaxEpochs: 100, BatchesPerEpoch: 25, Accumulate: 1},
	} {
		s, err := NewLearningRate(options)
		require.NoError(t, err)
		require.Equal(t, constant, s.Constant())
		require.Equal(t, constant, s.Factor(0) == 1)
	}
}

func TestLearningRateRefuses(t *testing.T) {
	good := LearningRateOptions{LR: 0.01, LRF: 0.01, MaxEpochs: 1, BatchesPerEpoch: 1, Accumulate: 1}
	for want, change := range map[string]func(*LearningRateOptions){
		"lr is -1":              func(o *LearningRateOptions) { o.LR = -1 },
		"lrf is NaN":            func(o *LearningRateOptions) { o.LRF = math.NaN() },
		"warmup_epochs is +Inf": func(o *LearningRateOptions) { o.WarmupEpochs = math.Inf(1) },
		"accumulate is 0":       func(o *LearningRateOptions) { o.Accumulate = 0 },
		"accumulate_warmup_epochs is NaN; it must be at least 0 and finite":  func(o *LearningRateOptions) { o.AccumulateWarmupEpochs = math.NaN() },
		"accumulate_warmup_epochs is +Inf; it must be at least 0 and finite": func(o *LearningRateOptions) { o.AccumulateWarmupEpochs = math.Inf(1) },
		"accumulate_warmup_epochs is -1; it must be at least 0 and finite":   func(o *LearningRateOptions) { o.AccumulateWarmupEpochs = -1 },
		"an epoch has -1 batche": func(o *LearningRateOptions) { o.BatchesPerEpoch = -1 },
	} {
		options := good
		change(&options)
		_, err := NewLearningRate(options)
		require.ErrorContains(t, err, want)
	}
}

func TestBranchWeight(t *testing.T) {
	w := BranchWeight{Alpha: 0.5, AlphaInit: 0.8, AlphaFinal: 0.1}
	for _, test := range []struct {
		e, epochs int
		want      float64
	}{{0, 50, 0.8}, {1, 50, 0.785714}, {10, 50, 0.657143}, {25, 50, 0.442857}, {48, 50, 0.114286}, {49, 50, 0.1},
		{60, 50, 0.1}, {0, 1, 0.8}, {5, 11, 0.45}, {0, 0, 0.5}, {-1, 50, 0.5}} {
		require.InDelta(t, test.want, w.At(test.e, test.epochs), 6e-7, "epoch %d of %d", test.e, test.epochs)
	}
}

// Field case PO-12: a fit of 10 epochs that closes mosaic at 8 and resumes at 9
// has it closed before its first batch, as in the unbroken run.
func TestMosaicProbability(t *testing.T) {
	for _, test := range []struct {
		e, epochs, close int
		want             float64
	}{{7, 10, 2, 1}, {8, 10, 2, 0}, {9, 10, 2, 0}, {9, 10, 0, 1}, {0, 10, 10, 0}, {0, 10, 12, 0}, {0, 10, 9, 1}} {
		require.Equal(t, test.want, MosaicProbability(test.e, test.epochs, test.close), "%+v", test)
	}
}
