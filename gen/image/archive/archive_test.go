package archive

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/fuzz/allocation"
)

func example() *Image {
	return &Image{
		Source: "digest", Compiler: "compiler 1", Targets: []string{"sm_80", "compute_80"},
		Modules: []Module{
			{Target: "sm_80", Precision: "fp32", Kernels: []string{"a", "b"}, Data: []byte("first module")},
			{Target: "sm_80", Precision: "bf16", Wide: true, Kernels: []string{"c"}, Data: []byte("second")},
			{Target: "sm_80", Precision: "fp16", Kernels: []string{"d"}, Data: []byte("third module")},
			{Target: "sm_80", Precision: "bf16", Kernels: []string{"e"}, Data: []byte("fourth")},
			{Target: "compute_80", Precision: "fp32", Kernels: []string{"f"}, Data: []byte("fifth")},
			{Target: "compute_80", Precision: "bf16", Kernels: []string{"g"}},
		},
	}
}

// Every module comes back with its own bytes, whatever else is wanted.
func TestRoundTrip(t *testing.T) {
	data, err := Encode(example())
	require.NoError(t, err)
	again, err := Encode(example())
	require.NoError(t, err)
	require.Equal(t, data, again)
	image, err := Decode(data)
	require.NoError(t, err)
	require.Equal(t, example().Source, image.Source)
	require.Equal(t, example().Targets, image.Targets)
	require.Len(t, image.Streams, 3, "PTX, 16-bit and other machine code")
	all, err := image.Load(func(Module) bool { return true })
	require.NoError(t, err)
	require.Len(t, all, len(example().Modules))
	for _, want := range example().Modules {
		want.Size = len(want.Data)
		loaded, err := image.Load(func(m Module) bool { return m.Kernels[0] == want.Kernels[0] })
		require.NoError(t, err)
		require.Len(t, loaded, 1)
		require.Equal(t, string(want.Data), string(loaded[0].Data))
		loaded[0].Data, want.Data = nil, nil
		require.Equal(t, want, loaded[0])
	}
	none, err := image.Load(func(Module) bool { return false })
	require.NoError(t, err)
	require.Empty(t, none)
}

// Modules that are alike take the room of one.
func TestAlikeModulesShareRoom(t *testing.T) {
	code := make([]byte, 1<<20)
	r := rand.NewChaCha8([32]byte{1})
	_, err := r.Read(code)
	require.NoError(t, err)
	image := &Image{Modules: []Module{
		{Target: "sm_90", Precision: "fp16", Data: code},
		{Target: "sm_90", Precision: "bf16", Data: bytes.Clone(code)},
	}}
	data, err := Encode(image)
	require.NoError(t, err)
	require.Less(t, len(data), 5*len(code)/4)
}

// The modules of a form lie in four streams, each with those of both 16-bit
// precisions for the same kernels in turn, so that neither waits for the other, and
// are given in their order.
func TestParts(t *testing.T) {
	image := new(Image)
	for _, precision := range []string{"fp16", "bf16"} {
		for _, name := range "abcdefghi" {
			image.Modules = append(image.Modules, Module{Target: "sm_90", Precision: precision, Kernels: []string{string(name)}, Data: []byte(precision + string(name))})
		}
	}
	data, err := Encode(image)
	require.NoError(t, err)
	decoded, err := Decode(data)
	require.NoError(t, err)
	for i, m := range decoded.Modules {
		require.Equal(t, []string{"bf16", "fp16"}[i%2], m.Precision)
	}
	var sizes []int
	for _, s := range decoded.Streams {
		sizes = append(sizes, s.Modules)
	}
	require.Equal(t, []int{6, 4, 4, 4}, sizes)
	for _, precision := range []string{"fp16", "bf16"} {
		given := ""
		require.NoError(t, decoded.Each(func(m Module) bool { return m.Precision == precision }, func(m Module) {
			require.Equal(t, precision+m.Kernels[0], string(m.Data))
			given += m.Kernels[0]
		}))
		require.Equal(t, "abcdefghi", given)
	}
}

// PTX for compute capability 8.0 does not wait, on whatever device it runs.
func TestWaits(t *testing.T) {
	require.True(t, Waits("sm_90"))
	require.False(t, Waits("sm_80"))
	require.False(t, Waits("compute_80"))
}

// Every file that is cut short, is longer or is something else is an error, not a
// panic; so is a stream with a changed byte.
func TestDamage(t *testing.T) {
	data, err := Encode(example())
	require.NoError(t, err)
	for n := range data {
		_, err := Decode(data[:n])
		require.Error(t, err, n)
	}
	_, err = Decode(append(bytes.Clone(data), 0))
	require.Error(t, err)
	_, err = Decode([]byte("\x7fELF"))
	require.ErrorContains(t, err, "no kernel image of this version")
	changed := bytes.Clone(data)
	changed[len(changed)-1] ^= 1
	image, err := Decode(changed)
	require.NoError(t, err)
	_, err = image.Load(func(Module) bool { return true })
	require.ErrorIs(t, err, errDamaged)
}

func FuzzDecode(f *testing.F) {
	data, err := Encode(example())
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		var image *Image
		var err error
		allocation.AtMost(t, allocation.PerByte, len(data), func() { image, err = Decode(data) })
		if err != nil {
			return
		}
		modules, err := image.Load(func(Module) bool { return true })
		if err != nil {
			return
		}
		for _, m := range modules {
			require.Len(t, m.Data, m.Size)
		}
	})
}
