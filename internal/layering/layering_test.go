// Package layering tests the import rules of the project: which folder may
// depend on which, as docs/design.md section 2 explains.
package layering

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/reprise-ml/reprise/"

// listed is a package as go list tells of it.
type listed struct {
	ImportPath string
	Imports    []string
	CgoFiles   []string
	Standard   bool
}

// list asks the go command for all packages of the project under a tag.
func list(t *testing.T, tags string) []listed {
	t.Helper()
	command := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,CgoFiles,Standard", "-tags="+tags, module+"...")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(t, err, stderr.String())
	decoder := json.NewDecoder(bytes.NewReader(out))
	var packages []listed
	for {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		packages = append(packages, p)
	}
	require.Greater(t, len(packages), 20, "go list must have found the project")
	return packages
}

// rule limits what packages below a folder may import of the project.
type rule struct {
	folder  string
	allowed []string // folders; nil allows nothing of the project
	std     bool     // only the standard library beside them
}

var rules = []rule{
	{folder: "gen/ir", std: true},
	{folder: "gen/stage", allowed: []string{"gen/ir"}},
	{folder: "gen/pass", allowed: []string{"gen/ir"}},
	{folder: "gen", allowed: []string{"gen", "templates"}},
	{folder: "templates", allowed: []string{"gen/ir", "gen/pass", "templates"}},
	{folder: "tasks/yolo26/objective", allowed: []string{"runtime", "internal/geometry", "tasks/yolo26/objective"}},
	{folder: "tasks/yolo26", allowed: []string{"gen/stage"}},
	{folder: "tasks/musgd", allowed: []string{"gen/stage", "tasks/detect", "tasks/obb", "tasks/pose", "tasks/segment", "tasks/musgd"}},
	{folder: "generated", allowed: []string{"runtime"}},
	{folder: "runtime", allowed: []string{"runtime", "gen/ir", "gen/image/archive"}},
	{folder: "train", allowed: []string{"internal/run", "internal/config", "internal/catalog", "tasks/detect/objective", "tasks/obb/objective", "tasks/pose/objective", "tasks/segment/objective"}},
}

// taskRules are the rules of every task.
func taskRules() []rule {
	var out []rule
	for _, task := range []string{"detect", "obb", "pose", "segment"} {
		out = append(out,
			rule{folder: "tasks/" + task + "/objective", allowed: []string{"runtime", "generated/" + task, "internal/geometry", "tasks/yolo26/objective", "tasks/" + task + "/objective"}},
			rule{folder: "tasks/" + task, allowed: []string{"gen/stage", "tasks/yolo26"}},
		)
	}
	return out
}

func below(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// broken names the imports of a package that the rules forbid. The first rule
// whose folder holds the package counts.
func broken(p listed, rules []rule) []string {
	path := strings.TrimPrefix(p.ImportPath, module)
	for _, r := range rules {
		if !below(path, r.folder) {
			continue
		}
		var out []string
		for _, imported := range p.Imports {
			inside, own := strings.CutPrefix(imported, module)
			if !own {
				if r.std && strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
					out = append(out, imported)
				}
				continue
			}
			fine := false
			for _, a := range r.allowed {
				exact := a == "tasks/yolo26" || strings.HasPrefix(a, "gen/")
				if exact && inside == a || !exact && below(inside, a) {
					fine = true
				}
			}
			if !fine {
				out = append(out, imported)
			}
		}
		return out
	}
	return nil
}

func TestImportsFollowTheRules(t *testing.T) {
	all := append(taskRules(), rules...)
	for _, tags := range []string{"", "cuda"} {
		for _, p := range list(t, tags) {
			require.Empty(t, broken(p, all), "%s (tags %q) may not import these", p.ImportPath, tags)
		}
	}
}

// Definitions must run before there is any output, so nothing that a
// definition or the generator needs may depend on generated code or a runtime,
// and the command that generates must build when all output is deleted.
func TestTheGeneratorNeedsNoOutput(t *testing.T) {
	imports := map[string][]string{}
	for _, p := range list(t, "") {
		imports[strings.TrimPrefix(p.ImportPath, module)] = p.Imports
	}
	for path := range imports {
		generator, command := below(path, "gen"), path == "cmd/reprise"
		if !generator && !command {
			continue
		}
		for reached := range reach(imports, path) {
			output := below(reached, "generated") || below(reached, "internal/testscale") && !strings.HasSuffix(reached, "/definition")
			require.False(t, output || generator && below(reached, "runtime"), "%s reaches %s", path, reached)
		}
	}
}

func reach(imports map[string][]string, from string) map[string]bool {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(path string) {
		for _, i := range imports[path] {
			if inside, own := strings.CutPrefix(i, module); own && !seen[inside] {
				seen[inside] = true
				visit(inside)
			}
		}
	}
	visit(from)
	return seen
}

// C appears only where it belongs.
func TestCgoIsConfined(t *testing.T) {
	for _, p := range list(t, "") {
		path := strings.TrimPrefix(p.ImportPath, module)
		require.True(t, len(p.CgoFiles) == 0 || below(path, "internal/cudasim"), "%s uses cgo without the tag cuda", path)
	}
	for _, p := range list(t, "cuda") {
		path := strings.TrimPrefix(p.ImportPath, module)
		allowed := below(path, "runtime/cuda") || below(path, "generated") || below(path, "internal/testscale") || below(path, "internal/cudasim")
		require.True(t, len(p.CgoFiles) == 0 || allowed, "%s uses cgo", path)
	}
}

// The rules themselves refuse what they are for.
func TestRulesRefuse(t *testing.T) {
	all := append(taskRules(), rules...)
	for _, c := range []struct{ from, to string }{
		{"gen/ir", "github.com/stretchr/testify"},
		{"gen/stage", module + "gen/pass"},
		{"gen/pass", module + "runtime/device"},
		{"gen/emit", module + "generated/obb"},
		{"tasks/obb", module + "runtime/replay"},
		{"tasks/obb", module + "tasks/yolo26/objective"},
		{"tasks/obb/objective", module + "generated/pose"},
		{"generated/obb", module + "gen/ir"},
		{"runtime/host", module + "internal/optim"},
	} {
		require.NotEmpty(t, broken(listed{ImportPath: module + c.from, Imports: []string{c.to}}, all), "%s may not import %s", c.from, c.to)
	}
}
