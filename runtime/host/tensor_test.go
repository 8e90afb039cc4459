package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// tensorsOf gives a tensor of each element type in a layout.
func tensorsOf(l layout, shape ...int) *plan {
	p := newPlan()
	p.float("float", l, shape...)
	p.tensor("index", ir.Index, l, shape...)
	p.tensor("counter", ir.Counter, l, shape...)
	return p
}

func TestTensorsReadAndWriteInLogicalOrder(t *testing.T) {
	want := make([]float64, 2*3*4*5)
	whole := make([]int64, len(want))
	single := make([]float32, len(want))
	for i := range want {
		want[i], whole[i], single[i] = float64(i), int64(i), float32(i)
	}
	for name, l := range layouts {
		for _, precision := range []device.Precision{device.FP32, device.Float64} {
			b := tensorsOf(l, 2, 3, 4, 5).bind(t, precision)
			for _, tensor := range []string{"float", "index", "counter"} {
				x := b.tensor(tensor)
				require.Equal(t, []int{2, 3, 4, 5}, x.Shape())
				for _, write := range []func() error{
					func() error { return x.WriteFloat64(want) },
					func() error { return x.WriteFloat32(single) },
					func() error { return x.WriteInt64(whole) },
				} {
					require.NoError(t, x.Zero())
					require.Equal(t, make([]float64, len(want)), b.read(tensor))
					require.NoError(t, write())
					require.Equal(t, want, b.read(tensor), "%s %s", name, tensor)
				}
				got := make([]float32, len(want))
				require.NoError(t, x.ReadFloat32(got))
				require.Equal(t, single, got)
				ints := make([]int64, len(want))
				require.NoError(t, x.ReadInt64(ints))
				require.Equal(t, whole, ints)
			}
			b.close()
		}
	}
}

func TestTensorTypes(t *testing.T) {
	for precision, float := range map[device.Precision]device.Type{device.FP32: device.TypeFloat32, device.Float64: device.TypeFloat64} {
		b := tensorsOf(dense, 2).bind(t, precision)
		require.Equal(t, float, b.tensor("float").Type())
		require.Equal(t, device.TypeInt32, b.tensor("index").Type())
		require.Equal(t, device.TypeInt64, b.tensor("counter").Type())
		require.Equal(t, "float", b.tensor("float").Name())
		b.close()
	}
}

func TestTensorsRefuse(t *testing.T) {
	b := tensorsOf(dense, 3).bind(t, device.FP32)
	require.EqualError(t, b.tensor("float").ReadFloat64(make([]float64, 2)), "tensor float of shape [3] has 3 elements, not 2")
	require.EqualError(t, b.tensor("index").WriteFloat64([]float64{1, 2.5, 3}), "tensor index: element 1 is 2.5, which int32 cannot hold")
	require.EqualError(t, b.tensor("index").WriteInt64([]int64{1, 2, 1 << 31}), "tensor index: element 2 is 2147483648, which int32 cannot hold")
	require.EqualError(t, b.tensor("counter").WriteFloat64([]float64{1 << 63, 0, 0}), "tensor counter: element 0 is 9.223372036854776e+18, which int64 cannot hold")
	require.NoError(t, b.tensor("counter").WriteInt64([]int64{1<<63 - 1, -1 << 63, 0}))
	require.ErrorContains(t, b.tensor("float").ReadInt64(make([]int64, 3)), "tensor float: element 0 is NaN, which the integer type cannot hold")
	require.ErrorContains(t, b.tensor("float").WriteImages(make([]uint8, 3), nil), "images need (N, 3, H, W)")
	require.ErrorContains(t, b.tensor("float").CopyFrom(b.tensor("index")), "holds float32 on the host and cannot be copied from index, which holds int32")
	require.ErrorContains(t, b.tensor("float").CopyFrom(nil), "nothing to copy from")
	other := tensorsOf(dense, 4).bind(t, device.FP32)
	require.ErrorContains(t, b.tensor("float").CopyFrom(other.tensor("float")), "different devices")
	other.close()
	b.close()
}

func TestWriteImages(t *testing.T) {
	pixels := make([]uint8, 2*4*5*3)
	for i := range pixels {
		pixels[i] = uint8(7 * i)
	}
	s := shape4{2, 3, 4, 5}
	for _, l := range layouts {
		p := newPlan()
		p.float("image", l, s.list()...)
		p.tensor("index", ir.Index, l, s.list()...)
		b := p.bind(t, device.FP32)
		require.NoError(t, b.tensor("image").WriteImages(pixels, nil))
		got := b.read("image")
		for n := range s.n {
			for i := range s.h {
				for j := range s.w {
					for c := range s.c {
						code := pixels[((n*s.h+i)*s.w+j)*3+c]
						require.Equal(t, float64(float32(code)/255), got[s.at(n, c, i, j)])
					}
				}
			}
		}
		jitter := []device.Jitter{device.NewJitter(0.3, 0.5, -0.2), {}}
		changed := append([]uint8(nil), pixels...)
		jitter[0].Apply(changed[:len(changed)/2])
		require.NoError(t, b.tensor("image").WriteImages(changed, nil))
		want := b.read("image")
		require.NoError(t, b.tensor("image").WriteImages(pixels, jitter))
		require.Equal(t, want, b.read("image"), "each image has its own jitter")
		require.ErrorContains(t, b.tensor("image").WriteImages(pixels, jitter[:1]), "1 jitters for 2 images; give one an image, or none")
		require.ErrorContains(t, b.tensor("image").WriteImages(pixels[1:], nil), "has 120 elements, not 119")
		require.ErrorContains(t, b.tensor("index").WriteImages(pixels, nil), "images need floats")
		b.close()
	}
}

// Field case SG-03: a 2x8x4x4 map with strides (128, 1, 32, 8), and a view one
// element into its storage, are copied into the declared layout.
func TestCopyFromAnotherLayout(t *testing.T) {
	p := newPlan()
	shape := []int{2, 8, 4, 4}
	p.float("declared", dense, shape...)
	p.view("channels last", ir.Activation, 0, shape, []int{128, 1, 32, 8}, 256)
	p.view("shifted", ir.Activation, 1, shape, []int{128, 16, 4, 1}, 257)
	p.float("smaller", dense, 2, 8, 4, 3)
	b := p.bind(t, device.FP32)
	for i, source := range []string{"channels last", "shifted"} {
		want := random(uint64(i), 256)
		b.write(source, want)
		require.NoError(t, b.tensor("declared").CopyFrom(b.tensor(source)))
		require.Equal(t, want, b.read("declared"), source)
	}
	require.ErrorContains(t, b.tensor("declared").CopyFrom(b.tensor("smaller")), "of shape [2 8 4 4] cannot be copied from smaller of shape [2 8 4 3]")
	b.close()
}

func TestSlice(t *testing.T) {
	p := newPlan()
	p.float("dense", dense, 2, 3, 4, 5)
	p.float("last", last, 2, 3, 4, 5)
	p.float("vector of one channel", last, 2, 1, 4, 5)
	b := p.bind(t, device.FP32)
	s, ok := Slice[float32](b.tensor("dense"))
	require.True(t, ok)
	require.Len(t, s, 120)
	s[7] = 42
	require.Equal(t, 42.0, b.read("dense")[7], "the slice is the memory of the tensor")
	_, ok = Slice[float64](b.tensor("dense"))
	require.False(t, ok)
	_, ok = Slice[float32](b.tensor("last"))
	require.False(t, ok)
	_, ok = Slice[float32](b.tensor("vector of one channel"))
	require.True(t, ok)
	b.close()
}
