package host

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// BenchmarkConvolution replays the main layer shapes of the nano network at
// 256 px, batch 2: forward, input gradient and weight gradient.
func BenchmarkConvolution(b *testing.B) {
	for _, s := range []struct{ cin, cout, kernel, stride, groups, size int }{
		{16, 16, 3, 1, 1, 64},
		{64, 64, 3, 2, 1, 32},
		{96, 128, 1, 1, 1, 32},
		{64, 64, 3, 1, 64, 32},
		{128, 128, 3, 1, 1, 8},
		{3, 16, 3, 2, 1, 256},
	} {
		for _, pass := range []string{"forward", "input", "weight"} {
			b.Run(fmt.Sprintf("%d-%d/k%ds%dg%d/%d/%s", s.cin, s.cout, s.kernel, s.stride, s.groups, s.size, pass), func(b *testing.B) {
				p := newPlan()
				outer := s.size / s.stride
				x := p.float("x", last, 2, s.cin, s.size, s.size)
				w := p.float("w", dense, s.cout, s.cin/s.groups, s.kernel, s.kernel)
				y := p.float("y", last, 2, s.cout, outer, outer)
				switch pass {
				case "forward":
					p.op(&ir.Conv2d{X: x, Weight: w, Y: y, Kernel: s.kernel, Stride: s.stride, Groups: s.groups})
				case "input":
					p.op(&ir.Conv2dInputGradient{DX: x, Weight: w, DY: y, Kernel: s.kernel, Stride: s.stride, Groups: s.groups})
				case "weight":
					p.op(&ir.Conv2dWeightGradient{X: x, DWeight: w, DY: y, Kernel: s.kernel, Stride: s.stride, Groups: s.groups})
				}
				products := 2 * outer * outer * s.cout * s.cin / s.groups * s.kernel * s.kernel
				benchmarkReplay(b, p, 2*float64(products))
			})
		}
	}
}

// BenchmarkNormalize replays the elementwise passes of one layer of 64 channels
// at 64 x 64 px, batch 2; the figure is nanoseconds per element and core.
func BenchmarkNormalize(b *testing.B) {
	for _, pass := range []string{"statistics", "normalize", "reduce", "gradient"} {
		b.Run(pass, func(b *testing.B) {
			p := newPlan()
			x, y := p.float("x", last, 2, 64, 64, 64), p.float("y", last, 2, 64, 64, 64)
			mean, rstd, scale, shift := p.float("mean", dense, 64), p.float("rstd", dense, 64), p.float("scale", dense, 64), p.float("shift", dense, 64)
			u, v := p.float("u", dense, 64), p.float("v", dense, 64)
			dx := p.float("dx", last, 2, 64, 64, 64)
			switch pass {
			case "statistics":
				p.op(&ir.BatchStatistics{X: x, Mean: mean, Rstd: rstd, RunningMean: u, RunningVar: v, Batches: p.tensor("n", ir.Counter, dense, 1)})
			case "normalize":
				p.op(&ir.Normalize{X: x, Mean: mean, Rstd: rstd, Scale: scale, Shift: shift, Y: y, Activation: ir.SiLU})
			case "reduce":
				p.op(&ir.NormalizeReduce{DY: y, X: x, Mean: mean, Rstd: rstd, Scale: scale, Shift: shift, DScale: u, DShift: v, Activation: ir.SiLU})
			case "gradient":
				p.op(&ir.NormalizeGradient{DY: y, X: x, Mean: mean, Rstd: rstd, Scale: scale, Shift: shift, DScale: u, DShift: v, DX: dx, Activation: ir.SiLU})
			}
			benchmarkReplay(b, p, 2*64*64*64)
		})
	}
}

func benchmarkReplay(b *testing.B, p *plan, operations float64) {
	bd := p.bind(b, device.FP32)
	for i, port := range p.stage.Inputs {
		t := bd.binding.Input(i)
		if t.Type() == device.TypeFloat32 {
			bd.write(port.Name, random(uint64(i), device.Elements(t.Shape())))
		}
	}
	r, err := bd.binding.Record(forward)
	require.NoError(b, err)
	for b.Loop() {
		require.NoError(b, r.Replay())
	}
	b.ReportMetric(operations*float64(b.N)/b.Elapsed().Seconds()/1e9, "G/s")
	require.NoError(b, r.Close())
	bd.close()
}
