package templates

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// tool finds a compiler of the checks. REPRISE_REQUIRE_CLANG=1, which CI sets,
// makes a missing one a failure; otherwise the test is skipped and says why.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("REPRISE_REQUIRE_CLANG") == "1" {
		t.Fatalf("%s is required by REPRISE_REQUIRE_CLANG=1 and not installed", name)
	}
	t.Skipf("%s is not installed; set REPRISE_REQUIRE_CLANG=1 to make that a failure", name)
	return ""
}

// runTool fails the test with what the tool printed.
func runTool(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	out, err := exec.Command(name, arguments...).CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", filepath.Base(name), strings.Join(arguments, " "), out)
	return string(out)
}

// emitted writes the text of a stage to a folder and returns it.
func emitted(t *testing.T, stage *ir.Stage) (dir string) {
	t.Helper()
	dir = t.TempDir()
	cu, err := Kernels(stage, "example")
	require.NoError(t, err)
	source, header, err := Wrapper(stage, "example")
	require.NoError(t, err)
	for name, text := range map[string][]byte{"_gen.cu": cu, "_gen.c": source, "_gen.h": header} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, stage.Name+name), text, 0o600))
	}
	return dir
}

// optimisation is what images are built with where the compiler is required,
// and off elsewhere, where the check should be quick.
func optimisation() string {
	if os.Getenv("REPRISE_REQUIRE_CLANG") == "1" {
		return "-O3"
	}
	return "-O0"
}

// deviceCompile compiles CUDA text to PTX without a CUDA toolkit.
func deviceCompile(t *testing.T, clang, source, architecture string, macros ...string) string {
	t.Helper()
	ptx := filepath.Join(t.TempDir(), "out.ptx")
	arguments := []string{"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=" + architecture,
		"--cuda-feature=+ptx78", "-std=c++17", optimisation(), "-Wall", "-Wextra", "-Werror", "-S", source, "-o", ptx}
	for _, m := range macros {
		arguments = append(arguments, "-D"+m)
	}
	runTool(t, clang, arguments...)
	text, err := os.ReadFile(ptx)
	require.NoError(t, err)
	return string(text)
}

// The text of every kind of kernel compiles for both architectures in every
// precision, with 32-bit and 64-bit indices, and exports every kernel.
func TestKernelsCompile(t *testing.T) {
	clang := tool(t, "clang-19")
	stage := everyKind()
	dir := emitted(t, stage)
	p, err := plan(stage, "example")
	require.NoError(t, err)
	for _, c := range []struct {
		architecture, suffix string
		macros               []string
	}{
		{"sm_80", "bf16", []string{"REPRISE_BF16"}},
		{"sm_80", "fp16_wide", []string{"REPRISE_FP16", "REPRISE_WIDE"}},
		{"sm_90", "fp32", []string{"REPRISE_FP32"}},
		{"sm_90", "tf32", []string{"REPRISE_TF32"}},
	} {
		t.Run(c.architecture+"_"+c.suffix, func(t *testing.T) {
			ptx := deviceCompile(t, clang, filepath.Join(dir, "every_gen.cu"), c.architecture, c.macros...)
			for _, k := range p.Kernels {
				require.Contains(t, ptx, ".entry "+p.Prefix+k.Name+"_"+c.suffix+"(")
			}
			// PO-10: nothing is added by atomics, whose order changes from run to run.
			require.NotRegexp(t, `\b(atom|red)\.`, ptx)
			// CG-15: no arithmetic in double precision.
			require.NotContains(t, ptx, ".f64")
		})
	}
}

// A missing precision is one clear error.
func TestKernelsNeedPrecision(t *testing.T) {
	clang := tool(t, "clang-19")
	dir := emitted(t, everyKind())
	out, err := exec.Command(clang, "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-std=c++17", "-fsyntax-only", filepath.Join(dir, "every_gen.cu")).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "define REPRISE_FP32, REPRISE_TF32, REPRISE_FP16 or REPRISE_BF16")
}

// headers is where cuda.h lies: CUDA_INCLUDE, or the declarations that the
// wrapper needs, so that the check runs where there is no toolkit.
func headers(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("CUDA_INCLUDE"); dir != "" {
		return dir
	}
	dir, err := filepath.Abs("testdata/driver")
	require.NoError(t, err)
	return dir
}

// The wrapper is C without a warning, and exports nothing but names with the
// long prefix (field case CG-21).
func TestWrapperCompiles(t *testing.T) {
	gcc := tool(t, "gcc")
	for _, name := range []string{"every", "a", "r", "v"} {
		stage := lanesStage()
		if name == "every" {
			stage = everyKind()
		}
		stage.Name = name
		dir := emitted(t, stage)
		object := filepath.Join(dir, "out.o")
		runTool(t, gcc, "-std=c11", optimisation(), "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"+headers(t), "-c", filepath.Join(dir, name+"_gen.c"), "-o", object)
		for _, line := range strings.Split(strings.TrimSpace(runTool(t, tool(t, "nm"), "--defined-only", "--extern-only", object)), "\n") {
			fields := strings.Fields(line)
			require.True(t, strings.HasPrefix(fields[len(fields)-1], "reprise_example_"+name+"_"), line)
		}
	}
}

// Templates and what they print are in the format of .clang-format.
func TestFormat(t *testing.T) {
	format := tool(t, "clang-format-19")
	style, err := filepath.Abs("../.clang-format")
	require.NoError(t, err)
	names, err := filepath.Glob("cuda/*.*h")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	dir := emitted(t, lanesStage())
	for _, name := range []string{"lanes_gen.cu", "lanes_gen.c", "lanes_gen.h"} {
		names = append(names, filepath.Join(dir, name))
	}
	runTool(t, format, append([]string{"--style=file:" + style, "--dry-run", "-Werror"}, names...)...)
}

// CG-15: the printed kernels hold no decimal floating-point literal, which
// would be a double.
func TestNoDecimalLiterals(t *testing.T) {
	cu, err := Kernels(everyKind(), "example")
	require.NoError(t, err)
	for _, line := range strings.Split(string(cu), "\n") {
		code, _, _ := strings.Cut(line, "//")
		if strings.Contains(code, `asm`) || strings.Contains(code, `"`) {
			continue // instruction names such as m16n8k8.f32
		}
		require.NotRegexp(t, regexp.MustCompile(`(^|[^\w.])(\d+\.\d*|\.\d+|\d+[eE][-+]?\d+)`), code)
	}
}
