package gen_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/gen"
	"github.com/reprise-ml/reprise/gen/emit"
	"github.com/reprise-ml/reprise/internal/scaffold"
)

// cases lists the folders of testdata: with a want.txt the definitions must
// fail with exactly that text, without one they must generate.
func cases(t *testing.T, failing bool) []string {
	t.Helper()
	entries, err := os.ReadDir("testdata")
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		_, err := os.Stat(filepath.Join("testdata", e.Name(), "want.txt"))
		if (err == nil) == failing {
			names = append(names, e.Name())
		}
	}
	require.NotEmpty(t, names)
	return names
}

// Field cases SE-08 (hidden-field, hidden-everywhere) and CT-12
// (host-callback), and every other way to be wrong: one clear error each.
func TestDefinitionsThatFail(t *testing.T) {
	for _, name := range cases(t, true) {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			_, err := gen.Plan(context.Background(), gen.Config{Patterns: []string{"./testdata/" + name}, Out: out})
			require.Error(t, err)
			file := filepath.Join("testdata", name, "want.txt")
			if os.Getenv("REPRISE_UPDATE") != "" {
				require.NoError(t, os.WriteFile(file, []byte(err.Error()+"\n"), 0o644))
			}
			want, readErr := os.ReadFile(file)
			require.NoError(t, readErr)
			require.Equal(t, string(want), err.Error()+"\n")
			require.NoDirExists(t, out)
		})
	}
}

// newModule makes a module in a temporary folder that uses this checkout.
func newModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	newModuleAt(t, dir)
	return dir
}

// newModuleAt writes the files of a module that uses this one. They may name
// this one relative to the folder, so they are written where they stay.
func newModuleAt(t *testing.T, dir string) {
	t.Helper()
	goMod, goSum, err := scaffold.Module(context.Background(), "example.com/consumer", dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), goMod, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), goSum, 0o644))
}

// generate writes a package and gives its files.
func generate(t *testing.T, out string, patterns ...string) {
	t.Helper()
	changes, err := gen.Plan(context.Background(), gen.Config{Patterns: patterns, Out: out})
	require.NoError(t, err)
	for _, c := range changes {
		require.NoError(t, c.Write())
	}
}

func goCommand(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	command := exec.Command("go", args...)
	command.Dir = dir
	output, err := command.CombinedOutput()
	return string(output), err
}

// Field cases CG-02 (two sets of definitions in one package), CG-06 (builds and
// vets without CUDA), CG-12, CG-13 and CG-21 (names): everything that generates
// compiles, vets, is formatted and has the right header.
func TestDefinitionsThatGenerate(t *testing.T) {
	module := newModule(t)
	for _, name := range cases(t, false) {
		generate(t, filepath.Join(module, name), "./testdata/"+name)
	}
	generate(t, filepath.Join(module, "joined"), "./testdata/first", "./testdata/second")
	output, err := goCommand(t, module, "vet", "./...")
	require.NoError(t, err, output)
	sources, err := filepath.Glob(filepath.Join(module, "*", "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, file := range sources {
		requireGenerated(t, file)
	}
	formatted, err := exec.Command("gofmt", "-l", module).CombinedOutput()
	require.NoError(t, err)
	require.Empty(t, string(formatted))
	changes, err := gen.Plan(context.Background(), gen.Config{Patterns: []string{"./testdata/first", "./testdata/second"}, Out: filepath.Join(module, "joined")})
	require.NoError(t, err)
	require.Empty(t, changes[0].Files)
	_, err = gen.Plan(context.Background(), gen.Config{Patterns: []string{"./testdata/first"}, Out: filepath.Join(module, "joined")})
	require.ErrorContains(t, err, "was generated from github.com/reprise-ml/reprise/gen/testdata/second too")
}

// requireGenerated checks the header as tools read it. Field case CG-19.
func requireGenerated(t *testing.T, file string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	require.NoError(t, err)
	require.True(t, ast.IsGenerated(parsed), file)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(data), "// "+emit.Header+"\n"), file)
	crlf := strings.ReplaceAll(string(data), "\n", "\r\n")
	parsed, err = parser.ParseFile(token.NewFileSet(), file, crlf, parser.ParseComments)
	require.NoError(t, err)
	require.True(t, ast.IsGenerated(parsed), "%s with CRLF", file)
}

// Field case CG-18: a runtime that the package was not generated for does not
// compile with it, and the compiler names what is missing.
func TestAnotherRuntimeDoesNotCompile(t *testing.T) {
	module := newModule(t)
	generate(t, filepath.Join(module, "letters"), "./testdata/letters")
	doc, err := filepath.Abs("../runtime/replay/doc.go")
	require.NoError(t, err)
	text, err := os.ReadFile(doc)
	require.NoError(t, err)
	other := strings.ReplaceAll(string(text), "GeneratedFormat1", "GeneratedFormat2")
	require.NotEqual(t, string(text), other)
	require.NoError(t, os.WriteFile(filepath.Join(module, "doc.txt"), []byte(other), 0o644))
	overlay := `{"Replace":{"` + doc + `":"` + filepath.Join(module, "doc.txt") + `"}}`
	require.NoError(t, os.WriteFile(filepath.Join(module, "overlay.json"), []byte(overlay), 0o644))
	output, err := goCommand(t, module, "build", "-overlay", "overlay.json", "./letters")
	require.Error(t, err)
	require.Contains(t, output, "undefined: replay.GeneratedFormat1")
}

// Field case CG-09: the Go of a stage holds the hash of its CUDA and C text.
func TestGoHoldsTheHashOfTheDeviceText(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "letters")
	generate(t, dir, "./testdata/letters")
	for _, stem := range []string{"a", "r", "v"} {
		sum := sha256.New()
		for _, extension := range []string{".cu", ".c", ".h"} {
			data, err := os.ReadFile(filepath.Join(dir, stem+"_gen"+extension))
			require.NoError(t, err)
			sum.Write(data)
		}
		code, err := os.ReadFile(filepath.Join(dir, stem+"_gen.go"))
		require.NoError(t, err)
		require.Contains(t, string(code), strings.ToUpper(stem)+`Kernels = "`+hex.EncodeToString(sum.Sum(nil))+`"`)
	}
}

// The manifest tells how many nodes each recording has, as the C does.
func TestManifestCountsNodes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "letters")
	generate(t, dir, "./testdata/letters")
	data, err := os.ReadFile(filepath.Join(dir, emit.ManifestName))
	require.NoError(t, err)
	manifest, err := emit.ReadManifest(data)
	require.NoError(t, err)
	require.NotEmpty(t, manifest.Stages)
	for _, s := range manifest.Stages {
		text, err := os.ReadFile(filepath.Join(dir, s.Name+"_gen.c"))
		require.NoError(t, err)
		var want, got []string
		for _, row := range regexp.MustCompile(`(?m)^ *\{(?:steps_\w+|NULL), \d+, (\d+)\}`).FindAllStringSubmatch(string(text), -1) {
			want = append(want, row[1])
		}
		for _, p := range s.Programs {
			got = append(got, strconv.Itoa(p.Nodes))
		}
		require.NotEmpty(t, want)
		require.Equal(t, want, got, s.Name)
	}
}

// Definitions of a dependency are run from the module that requires it: the
// folder of the dependency may be read-only, and nothing is written there.
func TestDefinitionsOfADependency(t *testing.T) {
	module := newModule(t)
	source := "package main\n\nimport _ \"github.com/reprise-ml/reprise/gen/stage\"\n\nfunc main() {}\n"
	require.NoError(t, os.WriteFile(filepath.Join(module, "main.go"), []byte(source), 0o644))
	changes, err := gen.Plan(context.Background(), gen.Config{
		Dir: module, Patterns: []string{"github.com/reprise-ml/reprise/gen/testdata/first"}, Out: "first",
	})
	require.NoError(t, err)
	require.Len(t, changes[0].Files, 8)
	require.Equal(t, filepath.Join(module, "first"), changes[0].Dir)
}

// A trainer that imports what is not generated yet does not stand in the way.
func TestACommandThatWaitsForItsPackage(t *testing.T) {
	module := newModule(t)
	copyTree(t, "testdata/first", filepath.Join(module, "first"))
	source := "package main\n\nimport _ \"example.com/consumer/generated/first\"\n\nfunc main() {}\n"
	require.NoError(t, os.WriteFile(filepath.Join(module, "main.go"), []byte(source), 0o644))
	changes, err := gen.Plan(context.Background(), gen.Config{Dir: module, Patterns: []string{"./..."}})
	require.NoError(t, err)
	require.NoError(t, changes[0].Write())
	output, err := goCommand(t, module, "vet", "./...")
	require.NoError(t, err, output)
	require.NoError(t, os.RemoveAll(filepath.Join(module, "generated")))
	_, err = gen.Plan(context.Background(), gen.Config{Dir: module, Patterns: []string{"."}})
	require.ErrorContains(t, err, "example.com/consumer/generated/first")
}

func TestOutsideOfAModule(t *testing.T) {
	_, err := gen.Plan(context.Background(), gen.Config{Dir: t.TempDir(), Patterns: []string{"./missing"}})
	require.ErrorContains(t, err, "./missing: no such package in the module of folder")
}
