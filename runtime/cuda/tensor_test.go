//go:build cuda

package cuda_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/internal/testscale/small"
	"github.com/reprise-ml/reprise/runtime/cuda"
	"github.com/reprise-ml/reprise/runtime/device"
	"github.com/reprise-ml/reprise/runtime/host"
)

// What is written comes back, rounded to the type of memory, in row-major order
// of the logical shape.
func TestTensorRoundTrip(t *testing.T) {
	for _, p := range precision {
		o := open(t, p, usual)
		x := o.binding.Input(0)
		n := device.Elements(x.Shape())
		want := make([]float32, n)
		for i := range want {
			want[i] = float32(i%251) - 125 // whole numbers that every type holds
		}
		require.NoError(t, x.WriteFloat32(want))
		got := make([]float32, n)
		require.NoError(t, x.ReadFloat32(got))
		require.Equal(t, want, got)
		whole := make([]int64, n)
		require.NoError(t, x.ReadInt64(whole))
		require.EqualValues(t, want[7], whole[7])
		o.close()
	}
}

// SG-03: floats start as NaN, integers as zero, lengths are checked, integers
// take whole numbers only.
func TestTensorStartAndErrors(t *testing.T) {
	d := openDevice(t, cuda.Options{})
	s, err := d.Load(plan(t, small.Plan), device.BF16)
	require.NoError(t, err)
	b, err := s.Bind(usual)
	require.NoError(t, err)
	out := b.Output(0)
	values := make([]float64, device.Elements(out.Shape()))
	require.NoError(t, out.ReadFloat64(values))
	for _, v := range values {
		require.True(t, math.IsNaN(v))
	}
	require.ErrorContains(t, out.ReadInt64(make([]int64, len(values))), "no whole number")
	require.ErrorContains(t, out.ReadFloat64(values[1:]), "elements, not")
	require.ErrorContains(t, out.WriteImages(make([]uint8, 3), nil), "images need (N, 3, H, W)")
	require.ErrorContains(t, b.Input(0).WriteImages(make([]uint8, 3), nil), "elements, not 3")
	counter := s.Buffer(bufferOf(s.Plan(), ir.Counter))
	one := make([]int64, device.Elements(counter.Shape()))
	require.NoError(t, counter.ReadInt64(one))
	require.Zero(t, one[0])
	half := make([]float64, len(one))
	half[0] = 0.5
	require.ErrorContains(t, counter.WriteFloat64(half), "cannot hold")
	require.NoError(t, out.Zero())
	require.NoError(t, out.ReadFloat64(values))
	require.Zero(t, values[len(values)-1])
	require.NoError(t, b.Close())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}

func bufferOf(plan *ir.Stage, e ir.Element) int {
	for i, b := range plan.Buffers {
		if b.Elem == e {
			return i
		}
	}
	return -1
}

// Pixels become code/255, rounded once, as on the host.
func TestWriteImages(t *testing.T) {
	pixels := make([]uint8, 4*32*32*3)
	for i := range pixels {
		pixels[i] = uint8(i * 7)
	}
	h := host.Open(host.Options{})
	hs, err := h.Load(plan(t, small.Plan), device.FP32)
	require.NoError(t, err)
	hb, err := hs.Bind(usual)
	require.NoError(t, err)
	strong, none := device.NewJitter(-0.4, 0.7, 0.3), device.Jitter{}
	for _, jitter := range [][]device.Jitter{nil, {device.NewJitter(0.01, 0.3, -0.2), none, strong, device.NewJitter(0.9, -1, 1)}} {
		require.NoError(t, hb.Input(0).WriteImages(pixels, jitter))
		want := make([]float32, len(pixels))
		require.NoError(t, hb.Input(0).ReadFloat32(want))
		for _, p := range precision {
			o := open(t, p, usual)
			x, reference := o.binding.Input(0), o.binding.InputGradient(0)
			require.NoError(t, reference.WriteFloat32(want))
			rounded, got := make([]float32, len(want)), make([]float32, len(want))
			require.NoError(t, reference.ReadFloat32(rounded))
			require.NoError(t, x.WriteImages(pixels, jitter))
			require.NoError(t, x.ReadFloat32(got))
			require.Equal(t, rounded, got, p)
			require.ErrorContains(t, x.WriteImages(pixels, []device.Jitter{strong}), "1 jitters for 4 images")
			o.close()
		}
	}
	require.NoError(t, hb.Close())
	require.NoError(t, hs.Close())
	require.NoError(t, h.Close())
}

// Copies and sums on the device equal those by way of the host.
func TestCopyAndAdd(t *testing.T) {
	for _, p := range precision {
		o := open(t, p, usual)
		x, y := o.binding.Cotangent(0), o.binding.Output(0)
		n := device.Elements(x.Shape())
		a, b := make([]float32, n), make([]float32, n)
		require.NoError(t, x.ReadFloat32(a))
		require.NoError(t, y.CopyFrom(x))
		require.NoError(t, y.ReadFloat32(b))
		require.Equal(t, a, b)
		require.NoError(t, y.Add(x))
		require.NoError(t, y.ReadFloat32(b))
		for i := range a {
			require.Equal(t, 2*a[i], b[i]) // exact in every type
		}
		require.ErrorContains(t, y.CopyFrom(o.binding.Output(1)), "cannot be copied")
		require.ErrorContains(t, y.Add(nil), "nothing to copy")
		gradient := o.stage.Gradient(0)
		require.NoError(t, gradient.CopyFrom(o.stage.Parameter(0)))
		require.NoError(t, gradient.Add(o.stage.Parameter(0)))
		w, g := make([]float32, device.Elements(gradient.Shape())), make([]float32, device.Elements(gradient.Shape()))
		require.NoError(t, o.stage.Parameter(0).ReadFloat32(w))
		require.NoError(t, gradient.ReadFloat32(g))
		require.Equal(t, 2*w[1], g[1])
		o.close()
	}
}

// An observer sees what each launch wrote, and the run equals a plain one.
func TestRunObserved(t *testing.T) {
	plain, o := open(t, device.FP32, usual), open(t, device.FP32, usual)
	require.NoError(t, plain.binding.Run(forward))
	var names []string
	err := o.binding.(device.Observable).RunObserved(forward, func(op *ir.Op, tensor func(ir.Ref) device.Tensor) error {
		names = append(names, op.Name)
		x := tensor(op.Writes()[0])
		values := make([]float64, device.Elements(x.Shape()))
		require.NoError(t, x.ReadFloat64(values))
		require.False(t, math.IsNaN(values[0]), op.Name)
		require.Nil(t, tensor(0))
		return nil
	})
	require.NoError(t, err)
	var want []string
	for _, op := range forward.Ops(o.stage.Plan()) {
		want = append(want, op.Name)
	}
	require.Equal(t, want, names)
	require.Empty(t, different(plain.state(), o.state()))
	plain.close()
	o.close()
}
