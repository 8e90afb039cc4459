package templates

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Field case CG-14: constants read back to the same bits in C, by bits and as
// literals.
func TestConstantsRoundTrip(t *testing.T) {
	gcc := tool(t, "gcc")
	values := []float64{1e-3, 3, math.Copysign(0, -1), 1e-45, -3.4028235e38, math.Inf(1), math.Inf(-1), math.NaN(), 0, 0.1, 1.5e-40}
	var body, want strings.Builder
	for _, v := range values {
		literal := strings.ReplaceAll(Literal(v), "reprise::", "")
		fmt.Fprintf(&body, "  show(%s);\n  show(float_from_bits(%s));\n", literal, Bits(v))
		fmt.Fprintf(&want, "%08x\n%08x\n", math.Float32bits(float32(v)), math.Float32bits(float32(v)))
	}
	program := "#include <stdio.h>\n#include <string.h>\n" +
		"static float float_from_bits(unsigned b) { float f; memcpy(&f, &b, sizeof f); return f; }\n" +
		"static void show(float f) { unsigned b; memcpy(&b, &f, sizeof b); printf(\"%08x\\n\", b); }\n" +
		"int main(void) {\n" + body.String() + "  return 0;\n}\n"
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "constants.c"), filepath.Join(dir, "constants")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	runTool(t, gcc, "-std=c11", "-Wall", "-Werror", "-Wdouble-promotion", source, "-o", binary)
	require.Equal(t, want.String(), runTool(t, binary))
}

// Field case CG-15: a constant is printed as its FP32 bits, also where it ends
// up in half precision; device code rounds it explicitly.
func TestConstantBits(t *testing.T) {
	require.Equal(t, "0x3dcccccdu", Bits(0.1))
	require.Equal(t, "0x1.99999ap-04f", Literal(0.1))
}
