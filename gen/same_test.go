package gen_test

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen"
	"github.com/reprise-ml/reprise/gen/emit"
	"github.com/reprise-ml/reprise/gen/load"
	"github.com/reprise-ml/reprise/gen/pass"
)

// Field case CG-01: twelve stages printed fifty times have one hash per file.
func TestSameInputSameBytes(t *testing.T) {
	defined, err := load.Load(context.Background(), ".", "./testdata/twelve")
	require.NoError(t, err)
	require.Len(t, defined[0].Stages, 12)
	seen := map[string][32]byte{}
	for run := range 50 {
		p := emit.Package{Name: "twelve"}
		for _, s := range defined[0].Stages {
			plan, err := pass.Run(s, nil)
			require.NoError(t, err)
			p.Stages = append(p.Stages, emit.Stage{Plan: plan, Definition: defined[0].Path})
		}
		files, err := emit.Render(p)
		require.NoError(t, err)
		for _, f := range files {
			sum := sha256.Sum256(f.Data)
			if run > 0 {
				require.Equal(t, seen[f.Name], sum, f.Name)
			}
			seen[f.Name] = sum
		}
	}
}

// Field case CG-03: the same definitions in two folders, one with a space in
// its name, give the same bytes, and no byte tells where they were.
func TestSameBytesFromAnywhere(t *testing.T) {
	var trees []map[string]string
	for _, place := range []string{"a/x", "b y/z"} {
		root := t.TempDir()
		dir := filepath.Join(root, filepath.FromSlash(place))
		copyTree(t, "testdata/language", filepath.Join(dir, "definition"))
		newModuleAt(t, dir)
		changes, err := gen.Plan(context.Background(), gen.Config{Dir: dir, Patterns: []string{"./definition"}, Out: "generated/task"})
		require.NoError(t, err)
		require.NoError(t, changes[0].Write())
		tree := readTree(t, filepath.Join(dir, "generated"))
		for name, data := range tree {
			require.False(t, strings.Contains(data, root), name)
			require.False(t, strings.Contains(data, "\r"), name)
		}
		trees = append(trees, tree)
	}
	require.Len(t, trees[0], 8)
	require.Equal(t, slices.Sorted(maps.Keys(trees[0])), slices.Sorted(maps.Keys(trees[1])))
	for name := range trees[0] {
		require.True(t, trees[0][name] == trees[1][name], name)
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
}

// readTree reads every file below a folder.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		tree[name] = string(data)
		return err
	}))
	return tree
}

// Adding a stage changes nothing of what another one declares: only the
// manifest and the comment of the package tell that it is there.
func TestAnotherStageRenamesNothing(t *testing.T) {
	one, both := t.TempDir(), t.TempDir()
	generate(t, filepath.Join(one, "task"), "./testdata/language")
	generate(t, filepath.Join(both, "task"), "./testdata/language", "./testdata/first")
	before, after := readTree(t, one), readTree(t, both)
	for name, data := range before {
		if strings.HasPrefix(name, "task/network_") {
			require.True(t, data == after[name], name)
		}
	}
	require.Contains(t, after, "task/stem_gen.go")
}
