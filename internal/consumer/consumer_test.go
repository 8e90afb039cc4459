// Package consumer tests the project as another module uses it: with a stage of
// its own, generated, built, vendored and trained.
package consumer

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen"
	"github.com/reprise-ml/reprise/internal/scaffold"
)

// command runs the go command in a folder and gives its standard output.
func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = dir
	var problems strings.Builder
	c.Stderr = &problems
	output, err := c.Output()
	require.NoError(t, err, "go %s\n%s%s", strings.Join(args, " "), output, problems.String())
	return string(output)
}

// listing lists the files of a folder.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Field cases CG-06 (plain build and vet), CG-07 and CG-08 (vendored: what is
// embedded, headers and device code come along), and a fit in both ways.
func TestAModuleOfItsOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "classifier")
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/classifier")))
	goMod, goSum, err := scaffold.Module(context.Background(), "example.com/classifier", dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), goMod, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), goSum, 0o644))

	command(t, dir, "generate", "./...")
	command(t, dir, "vet", "./...")
	var results map[string]struct {
		Losses []float64
		SHA256 string
		Stage  struct {
			Asked                                  bool
			Recorded, Replayed, Native             int
			KernelLaunches, GraphLaunches, Partial int
		}
		Warnings []string
	}
	require.NoError(t, json.Unmarshal([]byte(command(t, dir, "run", ".")), &results))
	native, replayed := results["native"], results["replayed"]
	for _, r := range results {
		require.Len(t, r.Losses, 40)
		require.Less(t, r.Losses[39], 0.5*r.Losses[0])
		require.Empty(t, r.Warnings)
	}
	require.Equal(t, native.Losses, replayed.Losses)
	require.Equal(t, native.SHA256, replayed.SHA256)
	require.Equal(t, 40, native.Stage.Native)
	require.Zero(t, native.Stage.GraphLaunches)
	require.Equal(t, 40, replayed.Stage.Replayed)
	require.Zero(t, replayed.Stage.Native)
	require.Equal(t, 80, replayed.Stage.GraphLaunches)
	require.Zero(t, replayed.Stage.KernelLaunches)

	command(t, dir, "mod", "vendor")
	command(t, dir, "build", "-mod=vendor", "./...")
	changes, err := gen.Plan(context.Background(), gen.Config{Dir: dir, Patterns: []string{"./definition"}, Out: "classifier"})
	require.NoError(t, err, "definitions run from a vendor folder too")
	require.Empty(t, changes[0].Files)
	require.Contains(t, listing(t, filepath.Join(dir, "classifier")), "network_gen.h")
	vendorAsDependency(t, dir)
}

// vendorAsDependency vendors the generated package into a third module and
// compares the files with those of its own.
func vendorAsDependency(t *testing.T, library string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Join(library, "vendor")))
	dir := filepath.Join(t.TempDir(), "user")
	require.NoError(t, os.Mkdir(dir, 0o755))
	goMod, goSum, err := scaffold.Module(context.Background(), "example.com/user", dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), goMod, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), goSum, 0o644))
	source := "package main\n\nimport \"example.com/classifier/classifier\"\n\nfunc main() { println(classifier.Digest) }\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644))
	command(t, dir, "mod", "edit", "-require=example.com/classifier@v0.0.0", "-replace=example.com/classifier="+library)
	command(t, dir, "mod", "vendor")
	command(t, dir, "build", "-mod=vendor", "./...")
	require.Equal(t, listing(t, filepath.Join(library, "classifier")), listing(t, filepath.Join(dir, "vendor", "example.com", "classifier", "classifier")))
	requireNoPath(t, filepath.Join(library, "classifier"), library)
}

// Field case CG-03: no output names the folder that it was generated in.
func requireNoPath(t *testing.T, dir, path string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.False(t, strings.Contains(string(data), path), name)
		return err
	}))
}
