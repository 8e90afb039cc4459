package host_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
	"github.com/reprise-ml/reprise/tasks/obb"
	"github.com/reprise-ml/reprise/tasks/yolo26"
)

// segmentation is trunk, heads and prototypes: every kind of layer of the
// family, with a gradient of the image.
func segmentation(scale yolo26.Scale) *stage.Definition {
	return stage.Define("network", func(b *stage.Builder) {
		levels := yolo26.Trunk(b, scale, yolo26.Image(b, stage.Differentiable()))
		for _, branch := range yolo26.Head(b, levels, yolo26.Segmentation(3)) {
			b.Output(branch.Name+"_cls", branch.Class)
			b.Output(branch.Name+"_box", branch.Box)
			b.Output(branch.Name+"_coeff", branch.Coefficient)
		}
		fused := yolo26.Fuse(b, levels)
		b.Output("prototypes", yolo26.PrototypeNet(b, fused))
		b.Output("semantic", yolo26.Semantic(b, fused, 3), stage.TrainingOnly())
	})
}

// network is a bound network with parameters drawn from a fixed seed.
type network struct {
	testing.TB
	device  device.Device
	stage   device.Stage
	binding device.Binding
	pattern int // of the backward program in which every output has a cotangent
}

func open(t testing.TB, defined *stage.Definition, precision device.Precision, sizes ir.Sizes) *network {
	t.Helper()
	built, err := defined.Build()
	require.NoError(t, err)
	plan, err := pass.Run(built, nil)
	require.NoError(t, err)
	n := &network{TB: t, device: host.Open(host.Options{}), pattern: -1}
	n.stage, err = n.device.Load(plan, precision)
	require.NoError(t, err)
	n.binding, err = n.stage.Bind(sizes)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for i, p := range plan.Parameters {
		bound := p.Init.Bound * math.Sqrt(3) // keeps the variance of activations
		fill(t, n.stage.Parameter(i), func() float64 { return p.Init.Value + bound*(2*r.Float64()-1) })
	}
	for i, b := range plan.Buffers {
		fill(t, n.stage.Buffer(i), func() float64 { return b.Value })
	}
	fill(t, n.binding.Input(0), r.Float64)
	for i := range plan.Outputs {
		fill(t, n.binding.Cotangent(i), r.NormFloat64)
	}
	for i, b := range plan.Backward {
		if len(b.Present) == len(plan.Outputs) {
			n.pattern = i
		}
	}
	require.GreaterOrEqual(t, n.pattern, 0)
	return n
}

func fill(t testing.TB, x device.Tensor, draw func() float64) {
	values := make([]float64, device.Elements(x.Shape()))
	for i := range values {
		values[i] = draw()
	}
	require.NoError(t, x.WriteFloat64(values))
}

func (n *network) read(x device.Tensor) []float64 {
	values := make([]float64, device.Elements(x.Shape()))
	require.NoError(n, x.ReadFloat64(values))
	return values
}

func (n *network) close() {
	require.NoError(n, n.binding.Close())
	require.NoError(n, n.stage.Close())
	require.NoError(n, n.device.Close())
}

// digest is a hash of everything that a step writes, after checking that none
// of it is a NaN or an infinity.
func (n *network) digest() string {
	plan := n.stage.Plan()
	tensors := []device.Tensor{n.binding.InputGradient(0)}
	for i := range plan.Outputs {
		tensors = append(tensors, n.binding.Output(i))
	}
	for i := range plan.Parameters {
		tensors = append(tensors, n.stage.Gradient(i))
	}
	for i := range plan.Buffers {
		tensors = append(tensors, n.stage.Buffer(i))
	}
	hash := sha256.New()
	for _, x := range tensors {
		var bytes []byte
		for _, v := range n.read(x) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				require.Fail(n, "not finite", x.Name())
			}
			bytes = binary.LittleEndian.AppendUint64(bytes, math.Float64bits(v))
		}
		hash.Write(bytes)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// The whole network gives the same bits natively and replayed, on 1, 2 and 8
// workers, step after step.
func TestNetworkBitsDependOnNothingElse(t *testing.T) {
	var want []string
	for _, cores := range []int{1, 2, 8} {
		for _, replay := range []bool{false, true} {
			previous := runtime.GOMAXPROCS(cores)
			got := steps(t, replay)
			runtime.GOMAXPROCS(previous)
			if want == nil {
				want = got
				require.NotEqual(t, want[0], want[1], "the second step sees moved statistics")
			}
			require.Equal(t, want, got, "%d cores, replay %v", cores, replay)
		}
	}
}

// steps runs two training steps and returns the digest after each.
func steps(t *testing.T, replay bool) (digests []string) {
	n := open(t, segmentation(yolo26.Test), device.FP32, ir.Sizes{Batch: 2, Height: 64, Width: 96})
	programs := []device.Program{device.Forward(ir.Training), device.BackwardOf(n.pattern)}
	var recordings []device.Recording
	if replay {
		for _, p := range programs {
			r, err := n.binding.Record(p)
			require.NoError(t, err)
			recordings = append(recordings, r)
		}
	}
	for range 2 {
		for i, p := range programs {
			if replay {
				require.NoError(t, recordings[i].Replay())
			} else {
				require.NoError(t, n.binding.Run(p))
			}
		}
		digests = append(digests, n.digest())
	}
	require.Equal(t, replay, n.device.Counters().KernelLaunches == 0, "replays are replays")
	for _, r := range recordings {
		require.NoError(t, r.Close())
	}
	n.close()
	return digests
}

// The gradients of all parameters and of the image, along one random
// direction, are the difference of sum(cotangent * output) along it.
func TestNetworkGradientsAreDerivatives(t *testing.T) {
	n := open(t, segmentation(yolo26.Test), device.Float64, ir.Sizes{Batch: 2, Height: 64, Width: 96})
	n.requireDerivatives(1e-8)
	n.close()
}

// The sum of scaled terms and the product that is added to a sum, as above.
func TestLinearAlgebraGradientsAreDerivatives(t *testing.T) {
	n := open(t, stage.Define("linear", func(b *stage.Builder) {
		x, rate := b.Tanh(b.Input("x", stage.Shape{stage.Batch, 7, 5}, stage.Differentiable())), b.Scalar("rate")
		square := b.MatMul(x, x, stage.Product{TransposeA: true})
		square = b.MatMulAdd(square, -2, square, square, stage.Product{TransposeB: true, Alpha: 0.5})
		y := b.MatMulAdd(x, 3, x, square, stage.Product{})
		b.Output("y", b.LinearCombination(stage.Term{X: y, Factor: 0.25, By: rate}, stage.Term{X: x}, stage.Term{X: b.Sigmoid(y), By: rate}))
	}), device.Float64, ir.Sizes{Batch: 2, Height: 1, Width: 1})
	require.NoError(t, n.binding.Input(1).WriteFloat64([]float64{-1.5}))
	n.requireDerivatives(1e-5)
	n.close()
}

// requireDerivatives compares the gradients of the first input and of the
// parameters with differences over a step.
func (n *network) requireDerivatives(step float64) {
	t, plan := n.TB, n.stage.Plan()
	tensors, gradients := []device.Tensor{n.binding.Input(0)}, []device.Tensor{n.binding.InputGradient(0)}
	for i := range plan.Parameters {
		tensors, gradients = append(tensors, n.stage.Parameter(i)), append(gradients, n.stage.Gradient(i))
	}
	require.NoError(t, n.binding.Run(device.Forward(ir.Training)))
	require.NoError(t, n.binding.Run(device.BackwardOf(n.pattern)))
	r := rand.New(rand.NewPCG(3, 4))
	var directions, starts [][]float64
	slope := 0.0
	for i, x := range tensors {
		start, gradient := n.read(x), n.read(gradients[i])
		direction := make([]float64, len(start))
		for j := range direction {
			direction[j] = r.NormFloat64()
			slope += direction[j] * gradient[j]
		}
		starts, directions = append(starts, start), append(directions, direction)
	}
	loss := func(at float64) (sum float64) {
		for i, x := range tensors {
			moved := make([]float64, len(starts[i]))
			for j := range moved {
				moved[j] = starts[i][j] + at*directions[i][j]
			}
			require.NoError(t, x.WriteFloat64(moved))
		}
		require.NoError(t, n.binding.Run(device.Forward(ir.Training)))
		for i := range plan.Outputs {
			cotangent := n.read(n.binding.Cotangent(i))
			for j, v := range n.read(n.binding.Output(i)) {
				sum += v * cotangent[j]
			}
		}
		return sum
	}
	difference := (loss(step) - loss(-step)) / (2 * step)
	require.InEpsilon(t, difference, slope, 1e-7)
}

// BenchmarkNetwork replays forward and backward of the oriented-box network at
// nano scale, 256 px, batch 2.
func BenchmarkNetwork(b *testing.B) {
	n := open(b, obb.Network, device.FP32, ir.Sizes{Batch: 2, Height: 256, Width: 256})
	forward, err := n.binding.Record(device.Forward(ir.Training))
	require.NoError(b, err)
	backward, err := n.binding.Record(device.BackwardOf(n.pattern))
	require.NoError(b, err)
	for b.Loop() {
		require.NoError(b, forward.Replay())
		require.NoError(b, backward.Replay())
	}
	b.ReportMetric(float64(forward.Nodes()+backward.Nodes()), "launches")
	b.ReportMetric(float64(n.device.Counters().PeakBytes)/(1<<20), "peak-MiB")
	require.NoError(b, forward.Close())
	require.NoError(b, backward.Close())
	n.close()
}
