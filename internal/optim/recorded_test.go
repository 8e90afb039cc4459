package optim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// hashes are the SHA-256 of everything that a fit keeps, tensor by tensor, so
// that a difference names its tensor.
func hashes[T device.Float](parameters []Parameter[T], state []Tensor[T]) map[string]string {
	out := map[string]string{}
	note := func(what, name string, values []T) {
		h := sha256.New()
		_ = binary.Write(h, binary.LittleEndian, values) // a hash takes everything
		out[what+" "+name] = hex.EncodeToString(h.Sum(nil))
	}
	for _, p := range parameters {
		note("weight", p.Name, p.Value)
	}
	for _, m := range state {
		note("momentum", m.Name, m.Value)
	}
	return out
}

// script runs an optimizer through what happens in fits: rates that change at
// every step, absent and zero gradients, a step without any gradient, scaled
// gradients of which one overflows, and a parameter that is added at step 4 and
// has its stage elsewhere (field case LC-09).
func script[T device.Float](t *testing.T, at, added Home, options MuSGDOptions, shapes [][]int) (map[string]string, []Parameter[T]) {
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
	return hashes(parameters, u.Optimizer.State()), parameters
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
			want, _ := script[T](t, native, native, options, smallShapes)
			again := home(t)
			second, _ := script[T](t, again, again, options, smallShapes)
			require.Equal(t, want, second, "two native fits")
			replayed, _ := script[T](t, recorded, recorded, options, smallShapes)
			require.Equal(t, want, replayed)
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
	want, _ := script[float32](t, native, native, DefaultMuSGDOptions(), smallShapes)
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
			got, _ := script[float32](t, at, at, DefaultMuSGDOptions(), smallShapes)
			require.Equal(t, want, got)
			r := at.stage()
			require.Equal(t, c.native, r.Native)
			require.Equal(t, 6-c.native, r.Replayed)
			require.Equal(t, c.guard, r.Reasons[0].Guard)
		})
	}
	strict := homeOn(t, host.Options{}, replay.Settings{Accumulate: 4, Strict: true}, true)
	parameters := drawn[float32](smallShapes, 3)
	before := hashes(parameters, nil)
	require.ErrorContains(t, optimizer[float32](t, strict, DefaultMuSGDOptions()).Step(0.01, parameters), "stage optimizer: strict: the call cannot be replayed: gradient accumulation 4 (G2)")
	require.Equal(t, before, hashes(parameters, nil))
}

// A fit that goes on from restored momentum, before its stages exist, is the
// unbroken one, recorded or not.
func TestRecordedOptimizerResumes(t *testing.T) {
	run := func(record bool, breakAt int) map[string]string {
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
				require.Equal(t, hashes(nil, state), hashes(nil, o.State()))
			}
			require.NoError(t, o.Step(0.01/float64(step+1), parameters))
		}
		return hashes(parameters, o.State())
	}
	want := run(false, -1)
	require.Len(t, want, 2*len(smallShapes)-1, "the absent one has no momentum")
	for _, record := range []bool{false, true} {
		for _, at := range []int{-1, 1, 4} {
			require.Equal(t, want, run(record, at), "recorded %v, broken at %d", record, at)
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
	before := hashes(parameters, o.State())
	require.ErrorContains(t, o.Step(0.01, parameters), "injected")
	require.Equal(t, before, hashes(parameters, o.State()))
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
