// Package gen turns stage definitions into generated packages: it loads and
// runs definitions, takes them through the passes, prints the results and
// brings the files on disk in line.
package gen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/gen/commit"
	"github.com/reprise-ml/reprise/gen/emit"
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/load"
	"github.com/reprise-ml/reprise/gen/pass"
)

// Config says what to generate.
type Config struct {
	// Dir is the folder from which patterns are seen and to which file names
	// in errors are relative; empty means the working directory.
	Dir string

	// Patterns name the packages with definitions, as for the go command.
	Patterns []string

	// Out is the folder that receives one folder for each generated package,
	// relative to Dir.
	Out string

	// Dump, unless empty, is a folder that receives the text of every stage
	// after every pass, relative to Dir.
	Dump string
}

// Plan generates everything in memory and compares it with the files on disk:
// one entry per generated package, in the order of their names. Definition
// packages of one name share a generated package. Nothing is written but dumps.
func Plan(ctx context.Context, config Config) ([]commit.Changes, error) {
	dir := config.Dir
	if dir == "" {
		dir = "."
	}
	defined, err := load.Load(ctx, dir, config.Patterns...)
	if err != nil {
		return nil, err
	}
	packages, err := merge(defined)
	if err != nil {
		return nil, err
	}
	var changes []commit.Changes
	for _, p := range packages {
		if err := p.run(under(dir, config.Dump)); err != nil {
			return nil, err
		}
		files, err := emit.Render(p.Package)
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", p.Name, err)
		}
		c, err := commit.Compare(filepath.Join(under(dir, config.Out), p.Name), p.Definitions, files)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// under is a folder seen from dir; empty stays empty.
func under(dir, folder string) string {
	if folder == "" || filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(dir, folder)
}

// generated is a package on its way: its stages as they were defined, then
// their plans.
type generated struct {
	emit.Package
}

// run takes every stage through the passes.
func (g *generated) run(dump string) error {
	for i, s := range g.Stages {
		var write func(pass, text string)
		var failure error
		if dump != "" {
			n := 0
			write = func(pass, text string) {
				if failure == nil {
					failure = writeDump(dump, fmt.Sprintf("%s_%s_%02d_%s.txt", g.Name, emit.Stem(s.Name), n, pass), text)
				}
				n++
			}
		}
		plan, err := pass.Run(s, write)
		if err != nil {
			return err
		}
		if failure != nil {
			return failure
		}
		g.Stages[i] = plan
	}
	return nil
}

func writeDump(dir, name, text string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%w; choose another folder with -dump", err)
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
}

// merge joins definition packages of one name.
func merge(defined []load.Package) ([]*generated, error) {
	var out []*generated
	byName := map[string]*generated{}
	for _, d := range defined {
		key := strings.ToLower(d.Name)
		g, known := byName[key]
		if !known {
			g = &generated{Package: emit.Package{Name: d.Name}}
			byName[key] = g
			out = append(out, g)
		}
		if g.Name != d.Name {
			return nil, fmt.Errorf("packages %s and %s would share a folder where case is ignored; rename one of them", g.Name, d.Name)
		}
		g.Definitions = append(g.Definitions, d.Path)
		g.Stages = append(g.Stages, d.Stages...)
	}
	for _, g := range out {
		if err := g.sort(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b *generated) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// sort orders the stages by name and refuses two of one name.
func (g *generated) sort() error {
	slices.SortFunc(g.Stages, func(a, b *ir.Stage) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(g.Stages); i++ {
		if a, b := g.Stages[i-1], g.Stages[i]; a.Name == b.Name {
			return fmt.Errorf("%s: stage %s: package %s has a stage of this name already, from %s; choose another name", b.Pos, b.Name, g.Name, a.Pos)
		}
	}
	return nil
}
