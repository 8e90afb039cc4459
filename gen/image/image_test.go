package image

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/image/archive"
)

// text is a kernel source in the form that the generator prints.
func text(kernels ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Of plan %x.\n", sha256.Sum256([]byte(strings.Join(kernels, " "))))
	b.WriteString("// ==== types.cuh\n#define __global__ __attribute__((global))\n")
	b.WriteString("// ==== a.cuh uses types.cuh\n// ==== precision\n#define REPRISE_NAME(name) name##_fp32\n// ==== kernels of a.cuh\n")
	for _, k := range kernels {
		fmt.Fprintf(&b, "\nextern \"C\" __global__ void REPRISE_NAME(%s)(float *p) {\n  *p = %d;\n}\n", k, len(k))
	}
	return b.String()
}

func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("reprise_p_s_kernel_%03d", i)
	}
	return out
}

// generated makes the folder of a generated package.
func generated(t *testing.T, kernels ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, kernels...)
	return dir
}

func write(t *testing.T, dir string, kernels ...string) {
	t.Helper()
	for name, data := range map[string]string{"s_gen.cu": text(kernels...), "s_gen.c": "// c\n", "s_gen.h": "// h\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
}

// compiler is a program that takes the place of one: it copies its input, and
// refuses a kernel named wrong.
func compiler(t *testing.T) *Compiler {
	t.Helper()
	path := filepath.Join(t.TempDir(), "compiler")
	script := `#!/bin/sh
if test "$1" = -cubin; then { echo "code for $3"; cat "$4"; } >"$6"; exit; fi
if grep -q wrong kernels.cu; then echo 'kernels.cu:1: it is wrong'; exit 2; fi
for out; do :; done
{ echo "PTX for $2"; cat kernels.cu; } >"$out"
`
	require.NoError(t, os.WriteFile(path, []byte(script), 0o700))
	return &Compiler{Name: "fake", Path: path, Version: "fake 1", architecture: "-arch", Targets: []string{"sm_90", "compute_80"}}
}

func build1(t *testing.T, dir, cache string, c *Compiler) (Result, *archive.Image) {
	t.Helper()
	variants, err := Variants([]string{"fp32", "bf16"}, true)
	require.NoError(t, err)
	results, err := Build(context.Background(), dir, Config{Compiler: c, Variants: variants, Cache: cache, Jobs: 2})
	require.NoError(t, err)
	require.Len(t, results, 1)
	data, err := os.ReadFile(results[0].Path)
	require.NoError(t, err)
	image, err := archive.Decode(data)
	require.NoError(t, err)
	return results[0], image
}

// An image holds every kernel once in each variant; one more kernel compiles
// only the unit that it falls into, and another compiler compiles all.
func TestBuild(t *testing.T) {
	cache, c := t.TempDir(), compiler(t)
	all := names(100)
	first, image := build1(t, generated(t, all...), cache, c)
	require.Equal(t, first.Units, first.Compiled)
	count := map[string]int{}
	modules, err := image.Load(func(archive.Module) bool { return true })
	require.NoError(t, err)
	for _, m := range modules {
		made := map[string]string{"sm_90": "code for sm_90\nPTX for compute_90\n", "compute_80": "PTX for compute_80\n"}[m.Target]
		require.True(t, strings.HasPrefix(string(m.Data), made), string(m.Data))
		for _, k := range m.Kernels {
			count[m.Target+k]++
			require.Contains(t, string(m.Data), k[:len(all[0])])
		}
	}
	require.Len(t, count, 800)
	for _, suffix := range []string{"_fp32", "_fp32_wide", "_bf16", "_bf16_wide"} {
		require.Equal(t, 1, count["sm_90"+all[42]+suffix])
		require.Equal(t, 1, count["compute_80"+all[42]+suffix])
	}
	second, again := build1(t, generated(t, all...), cache, c)
	require.Zero(t, second.Compiled)
	require.Equal(t, image, again)

	more := append(append(append([]string(nil), all[:50]...), "reprise_p_s_kernel_049b"), all[50:]...)
	third, _ := build1(t, generated(t, more...), cache, c)
	require.LessOrEqual(t, third.Compiled, 4*4, "the unit that it falls into, and those up to the next cut")
	require.Positive(t, third.Compiled)

	c.Version = "fake 2"
	fourth, _ := build1(t, generated(t, all...), cache, c)
	require.Equal(t, fourth.Units, fourth.Compiled)
}

// A unit holds the device code that its kernels need and no more, so that code of
// another kind of kernels, and the plan, change nothing in it.
func TestUnits(t *testing.T) {
	cut := func(text string) (out []string) {
		var s source
		require.NoError(t, s.read([]byte(text)))
		for _, u := range s.units() {
			out = append(out, string(u.text))
		}
		return out
	}
	const (
		types  = "// ==== types.cuh\nt\n"
		a      = "// ==== a.cuh uses types.cuh\na\n"
		b      = "// ==== b.cuh uses types.cuh, a.cuh\nb\n"
		c      = "// ==== c.cuh uses types.cuh\nc\n"
		naming = "// ==== precision\nnames\n"
		ofA    = "extern \"C\" __global__ void REPRISE_NAME(one)() {}\n"
		ofB    = "extern \"C\" __global__ void REPRISE_NAME(two)() {}\n"
	)
	first := cut("// plan 1\n" + types + a + naming + "// ==== kernels of a.cuh\n" + ofA)
	require.Equal(t, []string{types + a + naming + ofA}, first)
	second := cut("// plan 2\n" + types + a + b + c + naming + "// ==== kernels of a.cuh\n" + ofA + "// ==== kernels of b.cuh\n" + ofB)
	require.Equal(t, []string{first[0], types + a + b + naming + ofB}, second)

	var s source
	require.ErrorContains(t, s.read([]byte("// ==== types.cuh\n// ==== precision\n// ==== kernels of b.cuh\n")), "there is no section b.cuh, which kernels of b.cuh need; run go generate")
	require.ErrorContains(t, s.read([]byte(types)), "there is no kernel in it; run go generate")
}

// Images of a folder of their own are named by their source, and nothing lies
// beside that.
func TestBuildOut(t *testing.T) {
	dir, out := generated(t, "reprise_k"), filepath.Join(t.TempDir(), "images")
	config := Config{Compiler: compiler(t), Variants: []Variant{{Precision: "fp32"}}, Cache: t.TempDir(), Out: out}
	results, err := Build(context.Background(), dir, config)
	require.NoError(t, err)
	data, err := os.ReadFile(results[0].Path)
	require.NoError(t, err)
	image, err := archive.Decode(data)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(out, archive.Name(image.Source)), results[0].Path)
	require.NoFileExists(t, filepath.Join(dir, "s_gen.cu"+Suffix))
}

// A source that does not compile is an error with the compiler's words, and its
// old image, which would be stale, is gone.
func TestBuildFails(t *testing.T) {
	dir, cache, c := generated(t, "reprise_right"), t.TempDir(), compiler(t)
	result, _ := build1(t, dir, cache, c)
	write(t, dir, "reprise_wrong")
	_, err := Build(context.Background(), dir, Config{Compiler: c, Variants: []Variant{{Precision: "fp32"}}, Cache: cache})
	require.ErrorContains(t, err, "kernels.cu:1: it is wrong")
	require.ErrorContains(t, err, "reprise_wrong")
	require.NoFileExists(t, result.Path)
}

func TestBuildRefuses(t *testing.T) {
	config := Config{Compiler: compiler(t), Variants: []Variant{{Precision: "fp32"}}, Cache: t.TempDir()}
	_, err := Build(context.Background(), t.TempDir(), config)
	require.ErrorContains(t, err, "there is no kernel source *_gen.cu in it; run go generate")
	dir := generated(t, "reprise_k")
	require.NoError(t, os.Remove(filepath.Join(dir, "s_gen.h")))
	_, err = Build(context.Background(), dir, config)
	require.ErrorContains(t, err, "s_gen.h: it is missing; run go generate")
	config.Variants = nil
	_, err = Build(context.Background(), dir, config)
	require.ErrorContains(t, err, "no precision was asked for")
	_, err = Variants([]string{"fp8"}, false)
	require.ErrorContains(t, err, `precision "fp8" is unknown`)
	_, err = Variants([]string{"fp32", "fp32"}, false)
	require.ErrorContains(t, err, "named twice")
	for want, targets := range map[string][]string{
		`target "sm_75" is unknown; use compute_80, or sm_`: {"sm_75"},
		"target sm_90 is named twice":                       {"sm_90", "sm_90"},
		"no target was asked for":                           nil,
	} {
		_, err = FindCompiler(context.Background(), "nvcc", targets)
		require.ErrorContains(t, err, want)
	}
	t.Setenv("PATH", t.TempDir())
	_, err = FindCompiler(context.Background(), "nvcc", DefaultTargets)
	require.ErrorContains(t, err, "nvcc is not in the path")
	_, err = FindCompiler(context.Background(), "clang", DefaultTargets)
	require.ErrorContains(t, err, "install clang 19")
	_, err = FindCompiler(context.Background(), "icc", DefaultTargets)
	require.ErrorContains(t, err, "use nvcc or clang")
}

// Only images of other source are discarded; line ends do not make other source
// (field case CG-05).
func TestDiscard(t *testing.T) {
	dir, c := generated(t, "reprise_k"), compiler(t)
	result, _ := build1(t, dir, t.TempDir(), c)
	removed, err := Discard(dir)
	require.NoError(t, err)
	require.Empty(t, removed)
	turned := strings.ReplaceAll(text("reprise_k"), "\n", "\r\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s_gen.cu"), []byte(turned), 0o600))
	removed, err = Discard(dir)
	require.NoError(t, err)
	require.Empty(t, removed)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s_gen.c"), []byte("// changed\n"), 0o600))
	removed, err = Discard(dir)
	require.NoError(t, err)
	require.Equal(t, []string{result.Path}, removed)
	require.NoFileExists(t, result.Path)
}
