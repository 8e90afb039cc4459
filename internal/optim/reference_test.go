package optim_test

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/golden"
	"github.com/reprise-ml/reprise/internal/optim"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/runtime/replay"
)

// references is the directory of the full reference files.
const references = "../verify/testdata"

// The reference trajectories contain small tensors of which every element is
// sampled: biases, a flow gain, a one-row matrix. Fed with their gradients, the
// optimizer, clipping, schedule and moving average must reproduce them over all
// steps.
func TestTrajectories(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(references, "trajectory-*.json"))
	require.NoError(t, err)
	require.Len(t, paths, 4)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			trajectory, err := golden.ReadTrajectory(path)
			require.NoError(t, err)
			follow(t, trajectory)
		})
	}
}

// follow replays the fully sampled parameters of a trajectory.
func follow(t *testing.T, trajectory *golden.Trajectory) {
	s := trajectory.Setting
	dev := host.Open(host.Options{})
	fit, err := replay.NewFit(dev, replay.Settings{})
	require.NoError(t, err)
	defer func() {
		require.NoError(t, fit.Close())
		require.NoError(t, dev.Close())
	}()
	optimizer, err := optim.NewMuSGD[float64](optim.Home{Fit: fit}, optim.DefaultMuSGDOptions())
	require.NoError(t, err)
	rate, err := optim.NewLearningRate(optim.LearningRateOptions{
		LR: s.LR, LRF: s.LRF, WarmupEpochs: s.WarmupEpochs, MaxEpochs: s.Epochs, BatchesPerEpoch: len(s.Batches), Accumulate: 1,
	})
	require.NoError(t, err)
	alpha := optim.BranchWeight{Alpha: 0.5, AlphaInit: s.AlphaInit, AlphaFinal: s.AlphaFinal}
	parameters, live := initial(t, trajectory)
	average, err := optim.NewEMA(optim.EMAOptions{Decay: s.EMADecay, Tau: s.EMATau, UpdateEvery: 1}, live)
	require.NoError(t, err)

	c := golden.NewComparison(golden.Largest, map[string]float64{"rate": 1e-12, "alpha": 1e-12, "momentum": 1e-11, "parameter": 1e-11, "ema": 1e-11})
	for i, step := range trajectory.Steps {
		c.Scalar("rate", fmt.Sprint("step ", i), step.LR, rate.Rate(i))
		c.Scalar("alpha", fmt.Sprint("step ", i), step.Alpha, alpha.At(step.Epoch, s.Epochs))
		// The other parameters' share of the norm: one more element, whose
		// gradient brings the norm to the recorded one.
		rest := complement(parameters, step)
		require.InEpsilon(t, step.Norm, optim.ClipGlobalNorm(append(slices.Clone(parameters), rest), s.Clip), 1e-12)
		require.NoError(t, optimizer.Step(step.LR, parameters))
		require.NoError(t, average.Step(live))
		compare(c, step, parameters, optimizer, average)
	}
	for _, worst := range c.Worst() {
		t.Log(worst)
	}
	require.NoError(t, c.Err())
}

// initial returns the parameters that are sampled completely, with their first
// weights, and the same tensors for the moving average.
func initial(t *testing.T, trajectory *golden.Trajectory) (parameters []optim.Parameter[float64], live []optim.Tensor[float64]) {
	samples := trajectory.Steps[0].Parameter
	// Every last layer of a stem has a bias, sampled or not.
	entries := slices.Collect(maps.Keys(samples))
	for name := range samples {
		if strings.HasSuffix(name, ".2.weight") {
			entries = append(entries, strings.TrimSuffix(name, "weight")+"bias")
		}
	}
	weights := golden.TrajectoryWeights(trajectory.Setting.Seed, entries)
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		sample := samples[name]
		if len(sample.Index) != sample.Size() {
			continue
		}
		value := make([]float64, sample.Size())
		require.NoError(t, golden.Fill(weights, name, sample.Shape, value))
		parameters = append(parameters, optim.Parameter[float64]{Name: name, Shape: sample.Shape, Value: value})
		live = append(live, optim.Tensor[float64]{Name: name, Shape: sample.Shape, Value: value})
	}
	require.NotEmpty(t, parameters)
	return parameters, live
}

// complement sets the gradients of a step and returns a parameter that stands
// for all others.
func complement(parameters []optim.Parameter[float64], step golden.Step) optim.Parameter[float64] {
	squares := step.Norm * step.Norm
	for i := range parameters {
		parameters[i].Gradient = nil
		if sample := step.Gradient[parameters[i].Name]; sample != nil {
			parameters[i].Gradient = slices.Clone(sample.Value)
			squares -= sample.L2 * sample.L2
		}
	}
	return optim.Parameter[float64]{Name: "others", Gradient: []float64{math.Sqrt(squares)}}
}

// compare notes the deviations of all state after a step.
func compare(c *golden.Comparison, step golden.Step, parameters []optim.Parameter[float64], optimizer *optim.MuSGD[float64], average *optim.EMA[float64]) {
	momentum := map[string][]float64{}
	for _, m := range optimizer.State() {
		momentum[m.Name] = m.Value
	}
	for _, p := range parameters {
		golden.Tensor(c, "parameter", p.Name, step.Parameter[p.Name], p.Shape, p.Value)
		golden.Tensor(c, "momentum", p.Name, step.Momentum[p.Name], p.Shape, momentum[p.Name])
	}
	shadow, _ := average.State()
	for _, e := range shadow {
		if sample, ok := step.EMA[e.Name]; ok {
			golden.Tensor(c, "ema", e.Name, sample, e.Shape, e.Value)
		}
	}
}
