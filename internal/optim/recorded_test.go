package optim

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// outcome is everything that a fit keeps.
type outcome[T device.Float] struct {
	weights [][]T
	state   []Tensor[T]
}

// script runs an optimizer through what happens in fits: rates that change at
// every step, absent and zero gradients, a step without any gradient, scaled
// gradients of which one overflows, and a parameter that is added at step 4 and
// has its stage elsewhere (field case LC-09).
func script[T device.Float](t *testing.T, at, added Home, options MuSGDOptions, shapes [][]int) outcome[T] {
	t.Helper()
	scaler, err := NewLossScaler(LossScalerOptions{Scale: 4, GrowthFactor: 2, BackoffFactor: 0.5, GrowthInterval: 100})
	require.NoError(t, err)
	rate, err := NewLearningRate(LearningRateOptions{LR: 0.02, LRF: 0.01, WarmupEpochs: 1, MaxEpochs: 2, BatchesPerEpoch: 4, Accumulate: 1})
	require.NoError(t, err)
	u := Update[T]{Optimizer: optimizer[T](t, added, options), Rate: rate, Clip: 10, Scaler: scaler}
	parameters := drawn[T](shapes, 3)
	require.NoError(t, u.Optimizer.Place(at, parameters))
	for step := range 8 {
		if step == 4 {
			late := drawn[T]([][]int{{30, 20}}, 6)[0]
			late.Name = "added"
			parameters = append(parameters, late)
		}
		fresh := append(drawn[T](shapes, uint64(10+step)), drawn[T]([][]int{{30, 20}}, 9)...)
		for i := range parameters {
			parameters[i].Gradient = fresh[i].Gradient
			switch {
			case step == 5, (i+step)%5 == 1, step == 2 && i%8 == 2:
				parameters[i].Gradient = nil
			case (i+step)%5 == 2:
				clear(parameters[i].Gradient)
			case step == 3 && i == 0:
				parameters[i].Gradient[7] = T(math.Inf(1))
			}
		}
		outcome, err := u.Step(parameters, nil)
		require.NoError(t, err)
		require.Equal(t, step == 3, outcome.Overflow)
	}
	return outcome[T]{values(parameters), u.Optimizer.State()}
}

// Field cases PO-01, PO-02, GR-11 and LC-09: with the optimizer recorded, weights
// and momentum are those of the native fit, bit for bit, and each stage was
// launched once a step.
func TestRecordedOptimizerEqualsNative(t *testing.T) {
	t.Run("float32", requireEqualRecorded[float32])
	t.Run("float64", requireEqualRecorded[float64])
}

func requireEqualRecorded[T device.Float](t *testing.T) {
	for name, change := range map[string]func(*MuSGDOptions){
		"published":       func(*MuSGDOptions) {},
		"without muon":    func(o *MuSGDOptions) { o.WMuon = 0 },
		"without decay":   func(o *MuSGDOptions) { o.WeightDecay = 0 },
		"two iterations":  func(o *MuSGDOptions) { o.NSSteps = 2 },
		"plain gradients": func(o *MuSGDOptions) { o.Momentum = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			options := DefaultMuSGDOptions()
			change(&options)
			native := home(t)
			recorded := homeOn(t, host.Options{}, replay.Settings{Batch: 16, Strict: true}, true)
			want := script[T](t, native, native, options, smallShapes)
			again := home(t)
			require.Equal(t, want, script[T](t, again, again, options, smallShapes), "two native fits")
			require.Equal(t, want, script[T](t, recorded, recorded, options, smallShapes))
			r := recorded.stage()
			require.Equal(t, "optimizer", r.Name)
			require.Equal(t, 1, r.Recorded)
			require.Equal(t, 6, r.Replayed, "8 steps, one that overflowed and one without a gradient")
			require.Equal(t, int64(6), r.GraphLaunches)
			require.Zero(t, r.KernelLaunches)
			require.Zero(t, r.Native)
			require.Equal(t, 3, recorded.Fit.Report().Stages[1].Replayed, "the added parameter")
			require.Greater(t, native.stage().KernelLaunches, int64(6))
			require.Zero(t, native.stage().GraphLaunches)
		})
	}
}

// What keeps a network's stages native keeps the optimizer native too, with the
// reason and the same bits (guards G1, G2 and G10, and invariant I10).
func TestGuardsHoldForTheOptimizer(t *testing.T) {
	native := home(t)
	want := script[float32](t, native, native, DefaultMuSGDOptions(), smallShapes)
	fail := func(event string, at int) host.Options {
		return host.Options{Fail: func(e string, n int) error {
			if e == event && n == at {
				return errors.New("injected")
			}
			return nil
		}}
	}
	for name, c := range map[string]struct {
		device   host.Options
		settings replay.Settings
		guard    string
		native   int
	}{
		"accumulation":     {settings: replay.Settings{Accumulate: 4}, guard: "G2", native: 6},
		"two devices":      {settings: replay.Settings{Devices: 2}, guard: "G1", native: 6},
		"failed recording": {device: fail("record", 1), guard: "G10", native: 6},
		"failed replay":    {device: fail("replay", 3), guard: "G10", native: 4},
	} {
		t.Run(name, func(t *testing.T) {
			at := homeOn(t, c.device, c.settings, true)
			require.Equal(t, want, script[float32](t, at, at, DefaultMuSGDOptions(), smallShapes))
			r := at.stage()
			require.Equal(t, c.native, r.Native)
			require.Equal(t, 6-c.native, r.Replayed)
			require.Equal(t, c.guard, r.Reasons[0].Guard)
		})
	}
	strict := homeOn(t, host.Options{}, replay.Settings{Accumulate: 4, Strict: true}, true)
	parameters := drawn[float32](smallShapes, 3)
	before := values(parameters)
	require.ErrorContains(t, optimizer[float32](t, strict, DefaultMuSGDOptions()).Step(0.01, parameters), "stage optimizer: strict: the call cannot be replayed: gradient accumulation 4 (G2)")
	require.Equal(t, before, values(parameters))
}

// A fit that goes on from restored momentum, before its stages exist, is the
// unbroken one, recorded or not.
func TestRecordedOptimizerResumes(t *testing.T) {
	run := func(record bool, breakAt int) ([][]float32, []Tensor[float32]) {
		at := homeOn(t, host.Options{}, replay.Settings{}, record)
		o := optimizer[float32](t, at, DefaultMuSGDOptions())
		parameters := drawn[float32](smallShapes, 3)
		parameters[1].Gradient = nil
		for step := range 6 {
			if step == breakAt {
				state := o.State()
				at = homeOn(t, host.Options{}, replay.Settings{}, record)
				o = optimizer[float32](t, at, DefaultMuSGDOptions())
				require.NoError(t, o.Restore(state))
				require.Equal(t, state, o.State())
			}
			require.NoError(t, o.Step(0.01/float64(step+1), parameters))
		}
		return values(parameters), o.State()
	}
	weights, state := run(false, -1)
	require.Len(t, state, len(smallShapes)-1)
	for _, record := range []bool{false, true} {
		for _, at := range []int{-1, 1, 4} {
			w, s := run(record, at)
			require.Equal(t, weights, w, "recorded %v, broken at %d", record, at)
			require.Equal(t, state, s)
		}
	}
}

// An error of the device changes neither weights nor momentum.
func TestFailedLaunchLeavesTheStep(t *testing.T) {
	at := homeOn(t, host.Options{Fail: func(event string, n int) error {
		if event == "launch" && n > 300 {
			return errors.New("injected")
		}
		return nil
	}}, replay.Settings{}, false)
	o := optimizer[float32](t, at, DefaultMuSGDOptions())
	parameters := drawn[float32](smallShapes, 3)
	require.NoError(t, o.Step(0.01, parameters))
	before, state := values(parameters), o.State()
	require.ErrorContains(t, o.Step(0.01, parameters), "injected")
	require.Equal(t, before, values(parameters))
	require.Equal(t, state, o.State())
}

func TestPlaceRefuses(t *testing.T) {
	at := home(t)
	o := optimizer[float32](t, at, DefaultMuSGDOptions())
	parameters := drawn[float32](smallShapes, 3)
	require.NoError(t, o.Place(at, parameters))
	require.ErrorContains(t, o.Place(at, parameters[:1]), `parameter "p000" has a stage already`)
	twice := []Parameter[float32]{{Name: "q", Shape: []int{2}}, {Name: "q", Shape: []int{2}}}
	require.ErrorContains(t, o.Place(at, twice), `parameter "q" is listed twice`)
	require.NoError(t, o.Restore([]Tensor[float32]{{Name: "r", Shape: []int{2}, Value: []float32{1, 2}}}))
	require.ErrorContains(t, o.Place(at, []Parameter[float32]{{Name: "r", Shape: []int{1, 2}}}), "the optimizer knows it with [2]")
	require.ErrorContains(t, o.Restore([]Tensor[float32]{{Name: "p001", Shape: []int{4, 4}, Value: make([]float32, 16)}}), "momentum: parameter \"p001\" has shape [4 4]")
	require.NoError(t, o.Step(0.01, parameters))
	require.Len(t, at.Fit.Report().Stages, 1, "one stage for all")
}
