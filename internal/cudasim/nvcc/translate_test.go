package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/cudasim/device"
)

// functions are the names of the functions that a text defines.
func functions(text, definition string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^(?:`+definition+`)(?: [\w ]+)?\b(\w+)\(`).FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Every function that the templates write as inline assembly exists in C++.
func TestInstructionsAreComplete(t *testing.T) {
	assembly, err := os.ReadFile("../../../templates/cuda/mma.cuh")
	require.NoError(t, err)
	instructions, err := device.Headers.ReadFile("instructions.h")
	require.NoError(t, err)
	wanted := functions(string(assembly), "__device__ __forceinline__")
	require.Greater(t, len(wanted), 15)
	require.Subset(t, functions(string(instructions), "inline|CUDASIM_UNCHECKED"), wanted, "instructions.h lacks functions of mma.cuh")
}

const source = `#include <stdint.h>
// Everything that plain C++ cannot say: assembly.
namespace reprise {
asm("nonsense");
} // namespace reprise
struct argument { int n; };
#pragma unroll
extern "C" __global__ void __launch_bounds__(64, 4) REPRISE_NAME(first)(const __grid_constant__ argument p) {
  extern __shared__ float space[];
}
`

func TestTranslate(t *testing.T) {
	out, err := translate(source)
	require.NoError(t, err)
	for _, absent := range []string{"nonsense", "#pragma unroll", "__grid_constant__", "extern __shared__"} {
		require.NotContains(t, out, absent)
	}
	require.Contains(t, out, `#include "instructions.h"`)
	require.Contains(t, out, "(const argument &p) {\n  float *const space = static_cast<float *>(cudasim_dynamic_shared());")
	require.Contains(t, out, "sizeof(argument), 64}")
	again, err := translate(source)
	require.NoError(t, err)
	require.Equal(t, out, again)
}

func TestTranslateErrors(t *testing.T) {
	_, err := translate(strings.Replace(source, "// Everything", "// All", 1))
	require.ErrorContains(t, err, "inline assembly is not where it was expected")
	_, err = translate(strings.Replace(source, "__launch_bounds__(64, 4) ", "", 1))
	require.ErrorContains(t, err, "0 of 1 kernels have the expected signature")
}

func TestParse(t *testing.T) {
	in, out, defines, err := parse([]string{"-ptx", "-arch", "compute_90", "-DREPRISE_FP32", "kernels.cu", "-o", "compute_90.ptx"})
	require.NoError(t, err)
	require.Equal(t, []string{"kernels.cu", "compute_90.ptx", "-DREPRISE_FP32"}, append([]string{in, out}, defines...))
	_, _, _, err = parse([]string{"kernels.cu"})
	require.ErrorContains(t, err, "-o")
}

func TestVersionHasNoPath(t *testing.T) {
	v, err := version()
	if err != nil {
		t.Skip(err)
	}
	require.Contains(t, v, "version")
	require.NotContains(t, v, "/")
}
