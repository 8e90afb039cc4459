package gen

import (
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/gen/emit"
	"github.com/reprise-ml/reprise/gen/load"
)

// arrange decides which definitions go into which generated package.
func arrange(config Config, defined []load.Package) ([]*generated, error) {
	var out []*generated
	for _, d := range defined {
		g, err := target(config, out, d)
		if err != nil {
			return nil, err
		}
		if g.Stages == nil {
			out = append(out, g)
		}
		for _, s := range d.Stages {
			g.Stages = append(g.Stages, emit.Stage{Plan: s, Definition: d.Path})
		}
	}
	for _, g := range out {
		if err := g.sort(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b *generated) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// target is the generated package of a definition package, a new one when it
// has no stages yet.
func target(config Config, known []*generated, d load.Package) (*generated, error) {
	folder := under(config.Dir, filepath.Join("generated", d.Name))
	if config.Out != "" {
		folder = under(config.Dir, config.Out)
	}
	for _, g := range known {
		switch {
		case g.folder == folder:
			return g, nil
		case strings.EqualFold(g.folder, folder):
			return nil, fmt.Errorf("packages %s and %s would share a folder where case is ignored; rename one of them", g.Name, d.Name)
		}
	}
	name, err := packageName(folder)
	if err != nil {
		return nil, err
	}
	return &generated{Package: emit.Package{Name: name}, folder: folder}, nil
}

// packageName is the name of a folder, which must do for a package.
func packageName(folder string) (string, error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	name := filepath.Base(abs)
	if !token.IsIdentifier(name) || name == "main" || name == "_" {
		return "", fmt.Errorf("-out %s: %q cannot be the name of an imported Go package; choose a folder of letters and digits", folder, name)
	}
	return name, nil
}

// sort orders the stages by name and refuses two of one name.
func (g *generated) sort() error {
	slices.SortStableFunc(g.Stages, func(a, b emit.Stage) int { return strings.Compare(a.Plan.Name, b.Plan.Name) })
	for i := 1; i < len(g.Stages); i++ {
		if a, b := g.Stages[i-1].Plan, g.Stages[i].Plan; a.Name == b.Name {
			return fmt.Errorf("%s: stage %s: package %s has a stage of this name already, from %s; choose another name", b.Pos, b.Name, g.Name, a.Pos)
		}
	}
	return nil
}
