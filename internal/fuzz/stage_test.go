package fuzz

import (
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/emit"
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

// FuzzStage takes a random graph through the builder, the passes, the printers
// and the host back end. What the builder refuses has a message with a place;
// what it accepts is printed as Go that parses and as CUDA and C that compile, has
// gradients that are derivatives, and replays with the native bits.
func FuzzStage(f *testing.F) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 10+3*seed)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		built, err := define(data).Build()
		if err != nil {
			require.Contains(t, err.Error(), "graph_test.go:", "a mistake without a place")
			return
		}
		plan, err := pass.Run(built, nil)
		require.NoError(t, err)
		printed(t, plan)
		executed(t, plan)
	})
}

// printed prints a plan, reads back what is Go, and the plan itself, and has the
// rest compiled.
func printed(t *testing.T, plan *ir.Stage) {
	t.Helper()
	files, err := emit.Render(emit.Package{Name: "random", Stages: []emit.Stage{{Plan: plan, Definition: "example.com/random"}}})
	require.NoError(t, err)
	for _, file := range files {
		switch {
		case strings.HasSuffix(file.Name, ".go"):
			_, err := parser.ParseFile(token.NewFileSet(), file.Name, file.Data, parser.AllErrors)
			require.NoError(t, err)
		case strings.HasSuffix(file.Name, "_plan.json"):
			read, err := ir.Decode(file.Data)
			require.NoError(t, err)
			digest, err := ir.Digest(read)
			require.NoError(t, err)
			require.Equal(t, plan.Digest, digest)
		}
	}
	compiled(t, plan, files)
}

// sizes of the runs: two images, one more row of pixels than columns.
var sizes = ir.Sizes{Batch: 2, Height: 2 * multiple, Width: multiple}

// execution is a plan on the host in float64.
type execution struct {
	testing.TB
	plan    *ir.Stage
	stage   device.Stage
	binding device.Binding
	back    device.Program // with a cotangent for every output
}

func executed(t *testing.T, plan *ir.Stage) {
	t.Helper()
	d := host.Open(host.Options{})
	s, err := d.Load(plan, device.Float64)
	require.NoError(t, err)
	b, err := s.Bind(sizes)
	if err != nil { // a map without a place, or batch norm of a map with one
		require.Contains(t, err.Error(), "stage random: ")
		require.NoError(t, s.Close())
		require.NoError(t, d.Close())
		return
	}
	x := &execution{TB: t, plan: plan, stage: s, binding: b}
	for i, p := range plan.Backward {
		if len(p.Present) == len(plan.Outputs) {
			x.back = device.BackwardOf(i)
		}
	}
	x.fill()
	native := x.run()
	require.NoError(t, same(native, x.run()), "two native runs differ")
	if plan.Unrecordable == "" {
		require.NoError(t, same(native, x.replay()), "replay differs from native")
	}
	x.requireDerivatives()
	require.NoError(t, b.Close())
	require.NoError(t, s.Close())
	require.Zero(t, d.Counters().Bytes)
	require.NoError(t, d.Close())
}

func (x *execution) fill() {
	r := rand.New(rand.NewPCG(5, 6))
	for i, p := range x.plan.Parameters {
		x.write(x.stage.Parameter(i), func() float64 { return p.Init.Value + 0.5*r.NormFloat64() })
	}
	x.write(x.binding.Input(0), r.NormFloat64)
}

// cotangents are written anew before each pass, as fits do: a backward program
// may add to the memory of a cotangent.
func (x *execution) cotangents() {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range x.plan.Outputs {
		x.write(x.binding.Cotangent(i), r.NormFloat64)
	}
}

func (x *execution) write(t device.Tensor, draw func() float64) {
	values := make([]float64, device.Elements(t.Shape()))
	for i := range values {
		values[i] = draw()
	}
	require.NoError(x, t.WriteFloat64(values))
}

func (x *execution) read(t device.Tensor) []float64 {
	values := make([]float64, device.Elements(t.Shape()))
	require.NoError(x, t.ReadFloat64(values))
	return values
}

// variables are the input and all parameters with a gradient, with their gradients.
func (x *execution) variables() (of, gradients []device.Tensor) {
	if g := x.binding.InputGradient(0); g != nil {
		of, gradients = append(of, x.binding.Input(0)), append(gradients, g)
	}
	for i := range x.plan.Parameters {
		if g := x.stage.Gradient(i); g != nil {
			of, gradients = append(of, x.stage.Parameter(i)), append(gradients, g)
		}
	}
	return of, gradients
}

// bits are all outputs and gradients.
func (x *execution) bits() (all [][]uint64) {
	add := func(t device.Tensor) {
		values := x.read(t)
		bits := make([]uint64, len(values))
		for i, v := range values {
			bits[i] = math.Float64bits(v)
		}
		all = append(all, bits)
	}
	for i := range x.plan.Outputs {
		add(x.binding.Output(i))
	}
	_, gradients := x.variables()
	for _, g := range gradients {
		add(g)
	}
	return all
}

func (x *execution) run() [][]uint64 {
	x.cotangents()
	require.NoError(x, x.binding.Run(device.Forward(ir.Training)))
	require.NoError(x, x.binding.Run(x.back))
	return x.bits()
}

func (x *execution) replay() [][]uint64 {
	x.cotangents()
	for _, p := range []device.Program{device.Forward(ir.Training), x.back} {
		r, err := x.binding.Record(p)
		require.NoError(x, err)
		require.NoError(x, r.Replay())
		defer func() { require.NoError(x, r.Close()) }()
	}
	return x.bits()
}

// requireDerivatives compares the gradients with differences along one random
// direction of all variables together. Where a maximum changes within the step
// two differences disagree, and there is nothing to compare.
func (x *execution) requireDerivatives() {
	of, gradients := x.variables()
	x.run()
	r := rand.New(rand.NewPCG(3, 4))
	var starts, directions [][]float64
	slope, size := 0.0, 0.0
	for i, t := range of {
		start, gradient := x.read(t), x.read(gradients[i])
		direction := make([]float64, len(start))
		for j := range direction {
			direction[j] = r.NormFloat64()
			slope += direction[j] * gradient[j]
			size += math.Abs(direction[j] * gradient[j])
		}
		starts, directions = append(starts, start), append(directions, direction)
	}
	x.cotangents()
	loss := func(at float64) (sum float64) {
		for i, t := range of {
			j := -1
			x.write(t, func() float64 { j++; return starts[i][j] + at*directions[i][j] })
		}
		require.NoError(x, x.binding.Run(device.Forward(ir.Training)))
		for i := range x.plan.Outputs {
			cotangent := x.read(x.binding.Cotangent(i))
			for j, v := range x.read(x.binding.Output(i)) {
				sum += v * cotangent[j]
			}
		}
		return sum
	}
	difference := func(step float64) float64 { return (loss(step) - loss(-step)) / (2 * step) }
	wide, narrow := difference(1e-5), difference(1e-6)
	tolerance := 1e-5*size + 1e-7
	if math.IsNaN(wide) || math.Abs(wide-narrow) > tolerance {
		return
	}
	require.InDelta(x, narrow, slope, 10*tolerance, "the gradient is not the derivative")
}
