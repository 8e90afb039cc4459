package archive

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func example() *Image {
	return &Image{
		Source: "digest", Compiler: "compiler 1", Targets: []string{"sm_80"},
		Modules: []Module{
			{Precision: "fp32", Kernels: []string{"a", "b"}, Data: []byte("first module")},
			{Precision: "bf16", Wide: true, Kernels: []string{"c"}, Data: []byte("second")},
			{Precision: "bf16", Data: []byte{}},
		},
	}
}

func TestRoundTrip(t *testing.T) {
	data, err := Encode(example())
	require.NoError(t, err)
	again, err := Encode(example())
	require.NoError(t, err)
	require.Equal(t, data, again)
	image, err := Decode(data)
	require.NoError(t, err)
	for i := range image.Modules {
		require.Zero(t, image.Modules[i].Offset%alignment)
		image.Modules[i].Offset, image.Modules[i].Size = 0, 0
	}
	require.Equal(t, example(), image)
}

// Every file that is cut short or is something else is an error, not a panic.
func TestDamage(t *testing.T) {
	data, err := Encode(example())
	require.NoError(t, err)
	end := len(data) - 16 - 4 // the padding of the last modules may be cut
	for n := range end {
		_, err := Decode(data[:n])
		require.Error(t, err, n)
	}
	_, err = Decode([]byte("\x7fELF"))
	require.ErrorContains(t, err, "no kernel image of this version")
}

func FuzzDecode(f *testing.F) {
	data, err := Encode(example())
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		image, err := Decode(data)
		if err != nil {
			return
		}
		for _, m := range image.Modules {
			require.Len(t, m.Data, m.Size)
		}
	})
}
