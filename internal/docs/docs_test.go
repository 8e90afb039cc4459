// Package docs tests that the documents of the project say what is so.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the folder of the module.
const root = "../.."

var (
	row        = regexp.MustCompile(`^\| ([A-Z]{2}-\d\d) \| (.+) \| (.+) \|$`)
	identifier = regexp.MustCompile(`\b(GR|SE|SG|CT|LC|PO|CG|RT|YO)-\d\d\b`)
	where      = regexp.MustCompile(`^on (a GPU|the simulated driver): `)
	quoted     = regexp.MustCompile("^`([a-z0-9/]+)\\.(Test\\w+)`$")
)

// cases reads the table: the tests of each field case in order of the file.
func cases(t *testing.T) (order []string, tests map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "field-cases.md"))
	require.NoError(t, err)
	tests = map[string][]string{}
	for number, line := range strings.Split(string(text), "\n") {
		if !identifier.MatchString(line) {
			continue
		}
		cells := row.FindStringSubmatch(line)
		require.NotNil(t, cells, "line %d is no row of three cells: %s", number+1, line)
		require.NotContains(t, tests, cells[1], "line %d repeats a case", number+1)
		order = append(order, cells[1])
		tests[cells[1]] = strings.Split(cells[3], ", ")
	}
	return order, tests
}

// functions lists the test functions of a package folder, whatever their build
// tags, and the field cases that its tests name.
func functions(t *testing.T, folder string) (names, mentions map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	require.NoError(t, err)
	names, mentions = map[string]bool{}, map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
		for _, group := range parsed.Comments {
			for _, id := range identifier.FindAllString(group.Text(), -1) {
				mentions[id] = true
			}
		}
	}
	return names, mentions
}

// Every test that the table of field cases names exists, and a row without tests
// says so in the one agreed way.
func TestNamedTestsExist(t *testing.T) {
	order, tests := cases(t)
	require.Greater(t, len(order), 90)
	for _, id := range order {
		if len(tests[id]) == 1 && tests[id][0] == "none yet: needs a GPU" {
			continue
		}
		for _, cell := range tests[id] {
			parts := quoted.FindStringSubmatch(where.ReplaceAllString(cell, ""))
			require.NotNil(t, parts, "%s: %s is no test in quotes", id, cell)
			names, _ := functions(t, parts[1])
			require.True(t, names[parts[2]], "%s: package %s has no %s", id, parts[1], parts[2])
		}
	}
}

// Every field case that a test names has a row.
func TestNamedCasesHaveRows(t *testing.T) {
	_, tests := cases(t)
	var folders []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			if name := entry.Name(); path != root && strings.ContainsAny(name[:1], "._") {
				return filepath.SkipDir // as the go command does
			}
			folder, _ := filepath.Rel(root, path)
			folders = append(folders, folder)
		}
		return err
	}))
	require.Greater(t, len(folders), 40)
	named := 0
	for _, folder := range folders {
		_, mentions := functions(t, folder)
		for id := range mentions {
			named++
			require.Contains(t, tests, id, "package %s names the case in a test", folder)
		}
	}
	require.Greater(t, named, 80)
}
