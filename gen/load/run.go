package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/tools/go/packages"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/stage"
)

// reader is the name of the folder that holds the program in the overlay.
const reader = "reprise_definition_reader"

// program imports the definitions and writes them to the file that its
// argument names.
var program = template.Must(template.New("reader").Parse(`package main

import (
	"fmt"
	"os"

	definition {{printf "%q" .Path}}
	"` + stagePath + `"
)

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return stage.Export(file{{range .Names}}, definition.{{.}}{{end}})
}
`))

// run builds and runs the definitions and gives their stages by name. The go
// command keeps the linked program in its cache, so that definitions that have
// not changed are not built again. Paths are not trimmed: the author's own
// build is cached without -trimpath, and places are base names anyway.
func run(ctx context.Context, dir string, p *packages.Package, definitions []definition) ([]*ir.Stage, error) {
	temp, err := os.MkdirTemp("", "reprise")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	home := p.Dir
	if p.Module != nil && !p.Module.Main {
		// The overlay cannot reach into the module cache or a vendor folder.
		if home, err = mainModule(ctx, dir); err != nil {
			return nil, err
		}
	}
	overlay, err := writeOverlay(temp, home, p.PkgPath, definitions)
	if err != nil {
		return nil, err
	}
	result := filepath.Join(temp, "definitions.json")
	command := exec.CommandContext(ctx, "go", "run", "-overlay", overlay, "./"+reader, result)
	command.Dir = home
	output, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: its definitions could not be run: %w\n%s", p.PkgPath, err, strings.TrimSpace(string(output)))
	}
	return readStages(dir, result, p, definitions)
}

// writeOverlay writes the program and the overlay that puts it below home.
func writeOverlay(temp, home, path string, definitions []definition) (string, error) {
	var names []string
	for _, d := range definitions {
		names = append(names, d.variable.Name())
	}
	var source bytes.Buffer
	if err := program.Execute(&source, map[string]any{"Path": path, "Names": names}); err != nil {
		return "", err
	}
	main := filepath.Join(temp, "main.go")
	if err := os.WriteFile(main, source.Bytes(), 0o600); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(home, reader, "main.go"): main},
	})
	if err != nil {
		return "", err
	}
	name := filepath.Join(temp, "overlay.json")
	return name, os.WriteFile(name, overlay, 0o600)
}

// mainModule is the folder of the module that dir belongs to.
func mainModule(ctx context.Context, dir string) (string, error) {
	command := exec.CommandContext(ctx, "go", "env", "GOMOD")
	command.Dir = dir
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(output))
	if file == "" || file == os.DevNull {
		return "", errors.New("there is no go.mod here; run reprise inside the module that requires the definitions")
	}
	return filepath.Dir(file), nil
}

func readStages(dir, result string, p *packages.Package, definitions []definition) ([]*ir.Stage, error) {
	file, err := os.Open(result)
	if err != nil {
		return nil, fmt.Errorf("%s: the program ended before its definitions were read; do not exit while packages are initialised", p.PkgPath)
	}
	defer file.Close()
	all, err := stage.ReadExport(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; use the same version of reprise for the command and in go.mod", p.PkgPath, err)
	}
	var stages []*ir.Stage
	var errs []error
	for i, one := range all {
		if len(one.Mistakes) > 0 {
			errs = append(errs, mistakesError(dir, p, definitions[i], one.Mistakes))
			continue
		}
		stages = append(stages, one.Stage)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortStableFunc(stages, func(a, b *ir.Stage) int { return strings.Compare(a.Name, b.Name) })
	return stages, sameNames(dir, p, stages)
}

// sameNames reports two definitions of one package with one name.
func sameNames(dir string, p *packages.Package, stages []*ir.Stage) error {
	for i := 1; i < len(stages); i++ {
		if a, b := stages[i-1], stages[i]; a.Name == b.Name {
			return mistakesError(dir, p, definition{}, stage.Mistakes{{
				Pos: b.Pos, Stage: b.Name, Op: "define",
				Problem: fmt.Sprintf("the name is taken by the stage at %s", a.Pos),
				Remedy:  "choose another name",
			}})
		}
	}
	return nil
}
