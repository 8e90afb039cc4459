//go:build cuda

package cuda

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/image/archive"
	"github.com/reprise-ml/reprise/gen/ir"
)

// Field cases CG-06 and CG-09: a missing, damaged or stale image, and a plan
// that no linked package was generated from, are one error that says what to do.
func TestImageErrors(t *testing.T) {
	encode := func(source string) []byte {
		data, err := archive.Encode(&archive.Image{Source: source, Modules: []archive.Module{{Precision: "fp32", Data: []byte("code")}}})
		require.NoError(t, err)
		return data
	}
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"missing": {fstest.MapFS{}, "no kernel image x_gen.cu.image was built; run reprise image"},
		"damaged": {fstest.MapFS{"x_gen.cu.image": {Data: encode("now")[:40]}}, "damaged; run reprise image"},
		"foreign": {fstest.MapFS{"x_gen.cu.image": {Data: []byte("\x7fELF")}}, "no kernel image of this version"},
		"stale":   {fstest.MapFS{"x_gen.cu.image": {Data: encode("before")}}, "built from other source (before) than this program (now)"},
	} {
		t.Run(name, func(t *testing.T) {
			g := Generated{Package: "p", Stage: "s", Kernels: "now", Files: c.files, Image: "x_gen.cu.image"}
			_, err := g.image()
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "package p")
		})
	}
	require.EqualError(t, Generated{Package: "p", Stage: "s", Image: "x_gen.cu.image"}.lacks("fp32", false),
		"stage s: kernel image x_gen.cu.image of package p has no fp32 kernels; run reprise image on the folder of that package with -precisions that name fp32, and build again")
	require.ErrorContains(t, Generated{}.lacks("bf16", true), "no bf16 kernels with 64-bit indices; run reprise image on the folder of that package with -precisions that name bf16 and with -wide, and")
	g := Generated{Kernels: "now", Files: fstest.MapFS{"i": {Data: encode("now")}}, Image: "i"}
	image, err := g.image()
	require.NoError(t, err)
	code, err := image.Load(func(archive.Module) bool { return true })
	require.NoError(t, err)
	require.Equal(t, "code", string(code[0].Data))

	folder := t.TempDir()
	other, err := archive.Encode(&archive.Image{Source: "now", Modules: []archive.Module{{Precision: "fp32", Data: []byte("other code")}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, archive.Name("now")), other, 0o600))
	t.Setenv(imageFolder, folder)
	image, err = g.image()
	require.NoError(t, err)
	code, err = image.Load(func(archive.Module) bool { return true })
	require.NoError(t, err)
	require.Equal(t, "other code", string(code[0].Data), "an image of the folder comes first")
	t.Setenv(imageFolder, t.TempDir())
	_, err = g.image()
	require.NoError(t, err, "and one that is not there leaves the embedded one")

	_, err = find(&ir.Stage{Name: "s", Digest: "0123456789abcdef"})
	require.ErrorContains(t, err, "no CUDA code for plan 0123456789ab; import the package")
}
