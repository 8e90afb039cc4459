// Package gen turns stage definitions into generated packages: it loads and
// runs definitions, takes them through the passes, prints the results and
// brings the files on disk in line.
package gen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reprise-ml/reprise/gen/commit"
	"github.com/reprise-ml/reprise/gen/emit"
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

	// Out is the folder of the generated package, relative to Dir; the package
	// has its name, and all definitions that the patterns name go there. When
	// it is empty, each definition package NAME gives generated/NAME.
	Out string

	// Dump, unless empty, is a folder that receives the text of every stage
	// after every pass, relative to Dir.
	Dump string
}

// Plan generates everything in memory and compares it with the files on disk:
// one entry per generated package, in the order of their names. Nothing is
// written but dumps.
func Plan(ctx context.Context, config Config) ([]commit.Changes, error) {
	if config.Dir == "" {
		config.Dir = "."
	}
	defined, err := load.Load(ctx, config.Dir, config.Patterns...)
	if err != nil {
		return nil, err
	}
	packages, err := arrange(config, defined)
	if err != nil {
		return nil, err
	}
	var changes []commit.Changes
	for _, p := range packages {
		c, err := p.compare(under(config.Dir, config.Dump))
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
	folder string
}

func (g *generated) compare(dump string) (commit.Changes, error) {
	if err := g.run(dump); err != nil {
		return commit.Changes{}, err
	}
	files, err := emit.Render(g.Package)
	if err != nil {
		return commit.Changes{}, fmt.Errorf("package %s: %w", g.Name, err)
	}
	return commit.Compare(g.folder, g.Definitions(), files)
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
					failure = writeDump(dump, fmt.Sprintf("%s_%s_%02d_%s.txt", g.Name, emit.Stem(s.Plan.Name), n, pass), text)
				}
				n++
			}
		}
		plan, err := pass.Run(s.Plan, write)
		if err != nil {
			return err
		}
		if failure != nil {
			return failure
		}
		g.Stages[i].Plan = plan
	}
	return nil
}

func writeDump(dir, name, text string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%w; choose another folder with -dump", err)
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
}
