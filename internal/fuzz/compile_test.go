package fuzz

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/emit"
	"github.com/reprise-ml/reprise/gen/ir"
)

// Every graph is compiled, for one of the architectures and precisions that images
// are built for: its digest chooses which, so that it is the same in every run.
var (
	architectures = []string{"sm_80", "sm_90"}
	precisions    = []string{"-DREPRISE_FP32", "-DREPRISE_TF32", "-DREPRISE_FP16", "-DREPRISE_BF16"}
)

// compiled passes the printed kernels and wrapper of a graph through the front
// ends of their compilers, warnings being errors. Code generation is left to the
// test of all kinds of kernels, which share their instructions.
func compiled(t *testing.T, plan *ir.Stage, files []emit.File) {
	t.Helper()
	choice, err := strconv.ParseUint(plan.Digest[:8], 16, 64)
	require.NoError(t, err)
	dir := t.TempDir()
	for _, file := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file.Name), file.Data, 0o600))
	}
	driver, err := filepath.Abs("../../templates/testdata/driver")
	require.NoError(t, err)
	arguments := []string{"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-feature=+ptx78", "-std=c++17",
		"--cuda-gpu-arch=" + architectures[choice%2], precisions[choice/2%4]}
	if choice/8%2 == 1 {
		arguments = append(arguments, "-DREPRISE_WIDE")
	}
	for compiler, c := range map[string]struct {
		file      string
		arguments []string
	}{
		"clang-19": {"random_gen.cu", arguments},
		"gcc":      {"random_gen.c", []string{"-std=c11", "-Wpedantic", "-I" + driver}},
	} {
		if _, err := exec.LookPath(compiler); err != nil && os.Getenv("REPRISE_REQUIRE_CLANG") != "1" {
			t.Logf("%s is not installed, so that %s is not compiled; set REPRISE_REQUIRE_CLANG=1 to make that a failure", compiler, c.file)
			continue
		}
		command := exec.Command(compiler, append(c.arguments, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", c.file)...)
		command.Dir = dir
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s\n%s", command, out)
	}
}
