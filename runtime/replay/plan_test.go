package replay

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen/ir"
)

func TestLoadPlan(t *testing.T) {
	plan := pairPlan("pair")
	var err error
	plan.Digest, err = ir.Digest(plan)
	require.NoError(t, err)
	data, err := ir.Encode(plan)
	require.NoError(t, err)

	loaded, err := LoadPlan(data, plan.Digest)
	require.NoError(t, err)
	require.Equal(t, "pair", loaded.Name)

	_, err = LoadPlan(data, "0123456789abcdef")
	require.ErrorContains(t, err, "the generated Go expects 0123456789ab; run go generate again")
	good := plan.Digest
	plan.Digest = "0123456789abcdef"
	data, err = ir.Encode(plan)
	require.NoError(t, err)
	_, err = LoadPlan(data, good)
	require.ErrorContains(t, err, "its header says 0123456789ab; run go generate again")
	plan.Digest = good
	plan.Multiple.Height = 4
	data, err = ir.Encode(plan)
	require.NoError(t, err)
	_, err = LoadPlan(data, plan.Digest)
	require.ErrorContains(t, err, "run go generate again")
	_, err = LoadPlan([]byte("{"), plan.Digest)
	require.ErrorContains(t, err, "plan: ")
}

// Field case CG-18: code generated for another runtime does not compile, and the
// message names the missing constant.
func TestGeneratedFormatIsChecked(t *testing.T) {
	compile := func(constant string) error {
		files := token.NewFileSet()
		source := "package generated\n\nimport \"github.com/reprise-ml/reprise/runtime/replay\"\n\nconst _ = replay." + constant + "\n"
		file, err := parser.ParseFile(files, "network_gen.go", source, 0)
		require.NoError(t, err)
		config := types.Config{Importer: importer.ForCompiler(files, "source", nil)}
		_, err = config.Check("generated", files, []*ast.File{file}, nil)
		return err
	}
	require.NoError(t, compile("GeneratedFormat1"))
	require.ErrorContains(t, compile("GeneratedFormat2"), "undefined: replay.GeneratedFormat2")
}
