package host

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// functions lists every activation with a slope for the one that has one.
var functions = []struct {
	f     ir.Function
	slope float64
}{{ir.Identity, 0}, {ir.SiLU, 0}, {ir.ReLU, 0}, {ir.LeakyReLU, 0.1}, {ir.Sigmoid, 0}, {ir.Tanh, 0}}

const epsilon = 1e-5

// normShapes are maps of one task and of several.
var normShapes = []shape4{{2, 5, 3, 7}, {2, 21, 19, 23}}

// normOperands lists the operands of normalisation kernels.
func normOperands(s shape4, more ...operandSpec) []operandSpec {
	list := []operandSpec{
		{name: "x", shape: s.list()}, {name: "y", shape: s.list()},
		{name: "mean", shape: []int{s.c}}, {name: "rstd", shape: []int{s.c}},
		{name: "scale", shape: []int{s.c}}, {name: "shift", shape: []int{s.c}},
	}
	return append(list, more...)
}

func TestNormalize(t *testing.T) {
	for _, s := range normShapes {
		for _, f := range functions {
			if s == normShapes[1] && f.f != ir.SiLU {
				continue // one function shows what more than one task changes
			}
			for _, residual := range []bool{false, true} {
				kernelTest{
					name:     fmt.Sprintf("%v/%s/residual=%v", s.list(), f.f, residual),
					operands: normOperands(s, operandSpec{name: "residual", shape: s.list()}),
					kernel: func(r map[string]ir.Ref) ir.Kernel {
						k := &ir.Normalize{X: r["x"], Mean: r["mean"], Rstd: r["rstd"], Scale: r["scale"], Shift: r["shift"], Y: r["y"], Activation: f.f, Slope: f.slope}
						if residual {
							k.Residual = r["residual"]
						}
						return k
					},
					want: func(v values) values {
						y := referenceNormalize(s, v["x"], v["mean"], v["rstd"], v["scale"], v["shift"], f.f, f.slope)
						return values{"y": plus(residual, v["residual"], y)}
					},
				}.run(t)
			}
		}
	}
}

func TestBatchStatistics(t *testing.T) {
	for _, s := range normShapes {
		for _, cumulative := range []bool{false, true} {
			kernelTest{
				name: fmt.Sprintf("%v/cumulative=%v", s.list(), cumulative),
				operands: []operandSpec{
					{name: "x", shape: s.list()}, {name: "mean", shape: []int{s.c}}, {name: "rstd", shape: []int{s.c}},
					{name: "runningMean", shape: []int{s.c}}, {name: "runningVar", shape: []int{s.c}},
					{name: "batches", elem: ir.Counter, shape: []int{}},
				},
				kernel: func(r map[string]ir.Ref) ir.Kernel {
					return &ir.BatchStatistics{X: r["x"], Mean: r["mean"], Rstd: r["rstd"], RunningMean: r["runningMean"], RunningVar: r["runningVar"], Batches: r["batches"], Epsilon: epsilon, Momentum: 0.03, Cumulative: cumulative}
				},
				prepare: func(v values) {
					v["batches"][0] = 3
					for i := range v["x"] {
						v["x"][i] += 100 // a mean that a one-pass variance would drown in
					}
				},
				want: func(v values) values {
					mean, variance := moments(s, v["x"])
					weight := 0.03
					if cumulative {
						weight = 0.25
					}
					m := float64(s.n * s.h * s.w)
					runningMean, runningVar := make([]float64, s.c), make([]float64, s.c)
					for c := range s.c {
						runningMean[c] = (1-weight)*v["runningMean"][c] + weight*mean[c]
						runningVar[c] = (1-weight)*v["runningVar"][c] + weight*variance[c]*m/(m-1)
					}
					return values{"mean": mean, "rstd": rstdOf(variance, epsilon), "runningMean": runningMean, "runningVar": runningVar, "batches": {4}}
				},
			}.run(t)
		}
	}
}

func TestRunningStatistics(t *testing.T) {
	kernelTest{
		name: "vector",
		operands: []operandSpec{
			{name: "runningMean", shape: []int{7}}, {name: "runningVar", shape: []int{7}}, {name: "mean", shape: []int{7}}, {name: "rstd", shape: []int{7}},
		},
		kernel: func(r map[string]ir.Ref) ir.Kernel {
			return &ir.RunningStatistics{RunningMean: r["runningMean"], RunningVar: r["runningVar"], Mean: r["mean"], Rstd: r["rstd"], Epsilon: 0.01}
		},
		prepare: func(v values) {
			for i := range v["runningVar"] {
				v["runningVar"][i] *= v["runningVar"][i]
			}
		},
		want: func(v values) values {
			return values{"mean": v["runningMean"], "rstd": rstdOf(v["runningVar"], 0.01)}
		},
	}.run(t)
}

// The gradients of batch normalisation are differences of the whole forward
// pass, statistics included.
func TestNormalizeGradients(t *testing.T) {
	s := shape4{2, 3, 3, 5}
	for _, f := range functions {
		forward := func(x, scale, shift []float64) []float64 {
			mean, variance := moments(s, x)
			return referenceNormalize(s, x, mean, rstdOf(variance, epsilon), scale, shift, f.f, f.slope)
		}
		sums := func(v values) (dScale, dShift []float64) {
			dScale = numericGradient(func(scale []float64) []float64 { return forward(v["x"], scale, v["shift"]) }, v["scale"], v["y"])
			dShift = numericGradient(func(shift []float64) []float64 { return forward(v["x"], v["scale"], shift) }, v["shift"], v["y"])
			return dScale, dShift
		}
		vectors := []operandSpec{{name: "dScale", shape: []int{s.c}}, {name: "dShift", shape: []int{s.c}}}
		statistics := func(v values) {
			mean, variance := moments(s, v["x"])
			v["mean"], v["rstd"] = mean, rstdOf(variance, epsilon)
		}
		kernelTest{
			name: fmt.Sprintf("reduce/%s", f.f), operands: normOperands(s, vectors...), prepare: statistics, tolerance: numeric,
			kernel: func(r map[string]ir.Ref) ir.Kernel {
				return &ir.NormalizeReduce{DY: r["y"], X: r["x"], Mean: r["mean"], Rstd: r["rstd"], Scale: r["scale"], Shift: r["shift"], DScale: r["dScale"], DShift: r["dShift"], Activation: f.f, Slope: f.slope}
			},
			want: func(v values) values {
				dScale, dShift := sums(v)
				return values{"dScale": dScale, "dShift": dShift}
			},
		}.run(t)
		for _, accumulate := range []bool{false, true} {
			kernelTest{
				name: fmt.Sprintf("input/%s/accumulate=%v", f.f, accumulate), operands: normOperands(s, append(vectors, operandSpec{name: "dX", shape: s.list()})...), tolerance: numeric,
				prepare: func(v values) {
					statistics(v)
					v["dScale"], v["dShift"] = sums(v)
				},
				kernel: func(r map[string]ir.Ref) ir.Kernel {
					return &ir.NormalizeGradient{DY: r["y"], X: r["x"], Mean: r["mean"], Rstd: r["rstd"], Scale: r["scale"], Shift: r["shift"], DScale: r["dScale"], DShift: r["dShift"], DX: r["dX"], Activation: f.f, Slope: f.slope, Accumulate: accumulate}
				},
				want: func(v values) values {
					dX := numericGradient(func(x []float64) []float64 { return forward(x, v["scale"], v["shift"]) }, v["x"], v["y"])
					return values{"dX": plus(accumulate, v["dX"], dX)}
				},
			}.run(t)
		}
	}
}

// Reductions over more pixels than one task must not depend on the tasks.
func TestNormalizeReduceOfManyTasks(t *testing.T) {
	s := normShapes[1]
	kernelTest{
		name: "silu", operands: normOperands(s, operandSpec{name: "dScale", shape: []int{s.c}}, operandSpec{name: "dShift", shape: []int{s.c}}),
		kernel: func(r map[string]ir.Ref) ir.Kernel {
			return &ir.NormalizeReduce{DY: r["y"], X: r["x"], Mean: r["mean"], Rstd: r["rstd"], Scale: r["scale"], Shift: r["shift"], DScale: r["dScale"], DShift: r["dShift"], Activation: ir.SiLU}
		},
		want: func(v values) values {
			dScale, dShift := make([]float64, s.c), make([]float64, s.c)
			for i, dY := range v["y"] {
				c := i / (s.h * s.w) % s.c
				xhat := (v["x"][i] - v["mean"][c]) * v["rstd"][c]
				z := xhat*v["scale"][c] + v["shift"][c]
				sigmoid := referenceActivation(ir.Sigmoid, 0, z)
				g := dY * sigmoid * (1 + z*(1-sigmoid))
				dScale[c] += g * xhat
				dShift[c] += g
			}
			return values{"dScale": dScale, "dShift": dShift}
		},
	}.run(t)
}

// Field case SE-01: one step with momentum 0.03 on the constant 2.0 gives a
// running mean of 0.06 and a counter of 1, however the step is issued.
func TestBatchStatisticsOfOneStep(t *testing.T) {
	for _, replay := range []bool{false, true} {
		p := newPlan()
		p.op(&ir.BatchStatistics{X: p.float("x", last, 2, 1, 2, 2), Mean: p.float("mean", dense, 1), Rstd: p.float("rstd", dense, 1),
			RunningMean: p.float("runningMean", dense, 1), RunningVar: p.float("runningVar", dense, 1), Batches: p.tensor("batches", ir.Counter, dense, 1), Epsilon: epsilon, Momentum: 0.03})
		b := p.bind(t, device.FP32)
		b.write("x", []float64{2, 2, 2, 2, 2, 2, 2, 2})
		b.write("runningMean", []float64{0})
		b.write("runningVar", []float64{1})
		if replay {
			r, err := b.binding.Record(forward)
			require.NoError(t, err)
			require.Equal(t, []float64{0}, b.read("batches"), "recording executes nothing")
			require.NoError(t, r.Replay())
			require.NoError(t, r.Close())
		} else {
			b.run()
		}
		require.Equal(t, []float64{float64(float32(0.06))}, b.read("runningMean"))
		require.Equal(t, []float64{float64(float32(0.97))}, b.read("runningVar"))
		require.Equal(t, []float64{1}, b.read("batches"))
		b.close()
	}
}

// Field case SE-03: with cumulative averaging, inputs of 1.0 then 3.0 leave
// running means of 1.0 then 2.0.
func TestCumulativeBatchStatistics(t *testing.T) {
	p := newPlan()
	p.op(&ir.BatchStatistics{X: p.float("x", last, 1, 1, 1, 2), Mean: p.float("mean", dense, 1), Rstd: p.float("rstd", dense, 1),
		RunningMean: p.float("runningMean", dense, 1), RunningVar: p.float("runningVar", dense, 1), Batches: p.tensor("batches", ir.Counter, dense, 1), Epsilon: epsilon, Cumulative: true})
	b := p.bind(t, device.FP32)
	b.write("runningMean", []float64{0})
	b.write("runningVar", []float64{1})
	for _, step := range []struct{ input, mean float64 }{{1, 1}, {3, 2}} {
		b.write("x", []float64{step.input, step.input})
		b.run()
		require.Equal(t, []float64{step.mean}, b.read("runningMean"))
	}
	b.close()
}

// Field case SG-05: one value per channel has no variance. Training says so,
// evaluation at the same size goes on.
func TestBatchStatisticsOfOneValue(t *testing.T) {
	p := newPlan()
	x, mean, rstd := p.float("x", last, 1, 2, 1, 1), p.float("mean", dense, 2), p.float("rstd", dense, 2)
	runningMean, runningVar := p.float("runningMean", dense, 2), p.float("runningVar", dense, 2)
	p.op(&ir.BatchStatistics{X: x, Mean: mean, Rstd: rstd, RunningMean: runningMean, RunningVar: runningVar, Batches: p.tensor("batches", ir.Counter, dense, 1)})
	p.op(&ir.RunningStatistics{RunningMean: runningMean, RunningVar: runningVar, Mean: mean, Rstd: rstd})
	p.stage.Forward[0].Mode, p.stage.Forward[1].Mode = ir.Training, ir.Eval
	b := p.bind(t, device.FP32)
	const message = "batch norm of batch_statistics0 has one value per channel"
	require.ErrorContains(t, b.binding.Run(forward), message)
	_, err := b.binding.Record(forward)
	require.ErrorContains(t, err, message)
	require.ErrorContains(t, err, "example/net.go:1")
	require.NoError(t, b.binding.Run(device.Forward(ir.Eval)))
	b.close()
}
