package replay

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

// hostRig is a fit of real plans on the host back end.
type hostRig struct {
	*testing.T
	dev      device.Device
	fit      *Fit
	stages   []*Stage
	momentum map[string][]float32
	warnings []string
}

func buildPlan(t *testing.T, name string, build func(*stage.Builder)) *ir.Stage {
	t.Helper()
	defined, err := stage.Define(name, build).Build()
	require.NoError(t, err)
	plan, err := pass.Run(defined, nil)
	require.NoError(t, err)
	return plan
}

func newHostRig(t *testing.T, options host.Options, settings Settings, wish StageOptions, plans ...*ir.Stage) *hostRig {
	t.Helper()
	return newHostRigOn(t, host.Open(options), settings, wish, plans...)
}

func newHostRigOn(t *testing.T, dev device.Device, settings Settings, wish StageOptions, plans ...*ir.Stage) *hostRig {
	t.Helper()
	r := &hostRig{T: t, dev: dev, momentum: map[string][]float32{}}
	settings.Warn = func(w string) { r.warnings = append(r.warnings, w) }
	var err error
	r.fit, err = NewFit(r.dev, settings)
	require.NoError(t, err)
	for _, plan := range plans {
		s, err := r.fit.AddStage(plan, wish)
		require.NoError(t, err)
		r.stages = append(r.stages, s)
	}
	return r
}

// close ends the fit and checks that the device is as it was opened.
func (r *hostRig) close() {
	r.Helper()
	require.NoError(r, r.fit.Close())
	require.Zero(r, r.dev.Counters().Recordings)
	require.Zero(r, r.dev.Counters().Bytes)
	require.NoError(r, r.dev.Close())
}

func (r *hostRig) report(i int) StageReport { return r.fit.Report().Stages[i] }

// sgd is the optimizer of the fixtures: learning rate, momentum, weight decay.
// A parameter with an absent gradient and its momentum are left alone.
func (r *hostRig) sgd(rate, momentum, decay float32) {
	r.Helper()
	for _, s := range r.stages {
		for i, p := range s.Plan().Parameters {
			gradient, presence := s.Gradient(i)
			if presence == Absent {
				continue
			}
			weights := s.Parameter(i)
			g, w := read(r.T, gradient), read(r.T, weights)
			m := r.momentum[p.Name]
			if m == nil {
				m = make([]float32, len(w))
				r.momentum[p.Name] = m
			}
			for j := range w {
				m[j] = momentum*m[j] + g[j] + decay*w[j]
				w[j] -= rate * m[j]
			}
			require.NoError(r, weights.WriteFloat32(w))
		}
		s.ClearGradients()
	}
}

// state gives a state entry.
func (r *hostRig) state(name string) Entry {
	r.Helper()
	all, err := r.fit.Snapshot()
	require.NoError(r, err)
	for _, e := range all {
		if e.Name == name {
			return e
		}
	}
	require.Failf(r, "no state entry", "%s in %v", name, all)
	return Entry{}
}

// noise gives seeded values in (-1, 1).
func noise(seed uint64, n int) []float32 {
	stream := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = 2*stream.Float32() - 1
	}
	return out
}

// unit is convolution, batch norm with the fixtures' constants and SiLU.
func unit(b *stage.Builder, x stage.Tensor, name string, out, stride int) stage.Tensor {
	b = b.Scope(name)
	x = b.Scope("conv").Conv2d(x, stage.Conv{Out: out, Kernel: 3, Stride: stride})
	return b.SiLU(b.Scope("bn").BatchNorm(x, stage.Norm{Epsilon: 1e-3, Momentum: 0.03}))
}

// smallNetwork has a stem and two heads; the cotangent of coefficients may be
// absent.
func smallNetwork(b *stage.Builder) {
	b.Multiple(4)
	x := b.Input("image", stage.Shape{stage.Batch, 3, stage.Height, stage.Width})
	x = unit(b, x, "stem", 8, 2)
	x = unit(b, x, "body", 12, 2)
	b.Output("classes", b.Anchors(b.Scope("classes").Conv2d(x, stage.Conv{Out: 3, Bias: stage.ConstantBias(-2)})))
	y := unit(b, x, "coefficients", 6, 1)
	b.Output("coefficients", b.Anchors(b.Scope("coefficients", "last").Conv2d(y, stage.Conv{Out: 5, Bias: stage.UniformBias})), stage.Optional())
}

// trace is what a fit leaves behind and produced on the way.
type trace struct {
	Losses   []float64
	Presence [][]Presence
	State    []Entry
	Momentum map[string][]float32
}

// batch is one training step of a trace test: images of size pixels; positives
// tells whether the objective uses the coefficients.
type batch struct {
	images, size int
	positives    bool
}

// rates are the learning rates of a trace test by step; the last one stays.
var rates = []float32{0.01, 0.01, 0.001}

// train runs a fit whose loss is half the sum of squares of the used outputs.
func (r *hostRig) train(batches []batch) trace {
	r.Helper()
	return r.resume(batches, 0)
}

// resume runs the batches from a position on; inputs follow from the position.
func (r *hostRig) resume(batches []batch, from int) trace {
	r.Helper()
	var out trace
	s := r.stages[0]
	for i := from; i < len(batches); i++ {
		b := batches[i]
		outputs, err := s.Forward([]Source{Float32s(noise(uint64(i), b.images*3*b.size*b.size), b.images, 3, b.size, b.size)})
		require.NoError(r, err)
		loss := 0.0
		cotangents := make([]Source, len(outputs))
		for j, o := range outputs {
			if s.Plan().Outputs[j].Optional && !b.positives {
				continue
			}
			values := make([]float64, device.Elements(o.Shape()))
			require.NoError(r, o.ReadFloat64(values))
			for _, v := range values {
				loss += v * v / 2
			}
			cotangents[j] = Float64s(values, o.Shape()...)
		}
		require.NoError(r, s.Backward(cotangents))
		presence := make([]Presence, len(s.Plan().Parameters))
		for j := range presence {
			_, presence[j] = s.Gradient(j)
		}
		out.Losses = append(out.Losses, loss)
		out.Presence = append(out.Presence, presence)
		r.sgd(rates[min(i, len(rates)-1)], 0.9, 5e-4)
	}
	var err error
	out.State, err = r.fit.Snapshot()
	require.NoError(r, err)
	out.Momentum = r.momentum
	return out
}
