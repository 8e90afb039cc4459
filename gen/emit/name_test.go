package emit

import (
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

// awkward are the names of field cases CG-12, CG-13 and CG-21, and more that
// file systems, Go or C treat specially.
var awkward = []string{
	"type", "type_", "range", "string", "len", "init", "main", "C", "func", "2stage", // CG-12
	"head-2", "head_2", "head.2", "a-b", "a-b-c", "a", "c", "b-c", // CG-13
	"r", "v", // CG-21
	"Head-2", "HEAD-2", "_head", "head", "Head", "con", "nul", "CON", "aux", "z", "Z", "zoom", "zebra", "z2d", "x_z2d", "x_zoom", "x_zebra", "x-z", "x_z_a", "x_za", "x_Za", "z_z", "z43", "z_a", "x_z",
	"x_linux", "x_test", "x_amd64", "linux_arm64", "x__y", "x_y", "xY", "x-y", "x.y", "x_2", "x2", "_5f", "Z5f",
	"new", "new_x", "newX", "new.x", "newest", "inputs", "x", "x_inputs", "new_x_inputs", "stage", "network", "network_stage",
	"parameter", "parameter.x", "gradients", "input_gradients", "input", "a_plan", "manifest2", "o2m_cls", "o2mCls",
}

// Field cases CG-12, CG-13 and CG-21: different names stay different as
// identifiers, files and symbols, and all of them can be used.
func TestNamesAreValidAndOneToOne(t *testing.T) {
	suffixes := []string{stageSuffix, inputSuffix, outputSuffix, cotangentSuffix, gradientSuffix, memorySuffix, parameterSuffix, bufferSuffix, digestSuffix, planSuffix, optionSuffix, kernelSuffix}
	identifiers, fields, files, symbols := owners{}, owners{}, owners{}, owners{}
	for _, name := range awkward {
		for _, s := range suffixes {
			identifiers.add(t, declared(name, s), name)
		}
		identifiers.add(t, constructor(name), name)
		for _, e := range awkward {
			identifiers.add(t, entry(name, parameterSuffix, e), name+" "+e)
			identifiers.add(t, entry(name, bufferSuffix, e), name+" "+e)
		}
		fields.add(t, exported(name), name)
		files.add(t, strings.ToLower(Stem(name)), name)
		for _, p := range []string{"obb", "obb_a", "o", "Obb", "pakét", "_x"} {
			for _, path := range []string{"example.com/", "example.com/test/"} {
				id := space(p, named(path+p, name)) + "_" + Stem(name)
				symbols.add(t, id, path+" "+p+" "+name)
			}
		}
	}
	for id := range identifiers {
		require.True(t, token.IsIdentifier(id) && token.IsExported(id), id)
		require.Nil(t, types.Universe.Lookup(id), id)
	}
	for f := range files {
		require.Regexp(t, regexp.MustCompile(`^[a-z][a-z0-9_]*$`), f)
	}
	for s := range symbols {
		require.Regexp(t, regexp.MustCompile(`^[A-Za-z0-9]+_[0-9a-f]{8}_[a-z][a-z0-9_]*$`), s)
	}
}

func named(definition, stage string) Stage {
	return Stage{Plan: &ir.Stage{Name: stage}, Definition: definition}
}

// owners remembers which name took which identifier.
type owners map[string]string

func (o owners) add(t *testing.T, id, name string) {
	t.Helper()
	before, taken := o[id]
	require.False(t, taken, "%s and %s both become %s", before, name, id)
	o[id] = name
}

func TestUsualNamesReadWell(t *testing.T) {
	require.Equal(t, "Inputs", declared("network", inputSuffix))
	require.Equal(t, "New", constructor("network"))
	require.Equal(t, "SegmentHeadsInputs", declared("segment_heads", inputSuffix))
	require.Equal(t, "NewSegmentHeads", constructor("segment_heads"))
	require.Equal(t, "O2mCls", exported("o2m_cls"))
	require.Equal(t, "o2m_cls", Stem("o2m_cls"))
	require.Equal(t, "Parameter_model_0_conv_weight", entry("network", parameterSuffix, "model.0.conv.weight"))
	require.Regexp(t, "^obb_[0-9a-f]{8}$", space("obb", named("example.com/obb", "network")))
}

// No suffix ends with another one: otherwise stage x_input and its Gradients
// would meet stage x and its InputGradients.
func TestSuffixesAreFree(t *testing.T) {
	suffixes := []string{stageSuffix, inputSuffix, outputSuffix, cotangentSuffix, gradientSuffix, memorySuffix, parameterSuffix, bufferSuffix, digestSuffix, planSuffix, optionSuffix, kernelSuffix}
	for _, a := range suffixes {
		for _, b := range suffixes {
			require.True(t, a == b || !strings.HasSuffix(a, b), "%s ends with %s", a, b)
		}
	}
}
