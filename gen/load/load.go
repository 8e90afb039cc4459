// Package load finds the stage definitions of Go packages and runs them.
//
// Definitions are exported package-level variables of type *stage.Definition.
// They are found with the Go type checker and run by a small program that
// exists only in an overlay of the go command: nothing is written into the
// author's module, and the same flags, vendor folders, workspaces and replace
// directives apply as when the author builds.
package load

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/reprise-ml/reprise/gen/ir"
)

// stagePath is the package of the definition language.
const stagePath = "github.com/reprise-ml/reprise/gen/stage"

// Package holds the stages that one package defines.
type Package struct {
	Path   string // import path
	Name   string // package clause
	Dir    string // folder of its files
	Stages []*ir.Stage
}

// mode asks for the syntax and types of the named packages only; what they
// import comes from export data, which the build cache holds anyway.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule

// Load runs the definitions of the packages that the patterns name, seen from
// the folder dir. Packages without definitions are passed over, and so is a
// command that does not compile, which may be waiting for what is about to be
// generated; it is an error when no package has any definition. Packages come in the order of their paths and
// stages in the order of their names. Errors carry file:line, the file relative
// to dir.
func Load(ctx context.Context, dir string, patterns ...string) ([]Package, error) {
	config := &packages.Config{Context: ctx, Mode: mode, Dir: dir, Fset: token.NewFileSet()}
	found, err := packages.Load(config, patterns...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(patterns, " "), err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no such package in the module of folder %s; run reprise inside a module and name its packages", strings.Join(patterns, " "), dir)
	}
	slices.SortFunc(found, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	var out []Package
	var waiting []error
	for _, p := range found {
		if p.Name == "main" && len(p.Errors) > 0 && len(find(p)) == 0 {
			waiting = append(waiting, packageErrors(dir, p))
			continue
		}
		stages, err := loadOne(ctx, dir, p)
		if err != nil {
			return nil, err
		}
		if len(stages) > 0 {
			out = append(out, Package{Path: p.PkgPath, Name: p.Name, Dir: p.Dir, Stages: stages})
		}
	}
	if len(out) == 0 && len(waiting) > 0 {
		return nil, errors.Join(waiting...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no package-level variable of type *stage.Definition; define a stage with stage.Define, or name another package", strings.Join(patterns, " "))
	}
	return out, nil
}

func loadOne(ctx context.Context, dir string, p *packages.Package) ([]*ir.Stage, error) {
	if len(p.Errors) > 0 {
		return nil, packageErrors(dir, p)
	}
	definitions := find(p)
	if len(definitions) == 0 {
		return nil, nil
	}
	var errs []error
	for _, d := range definitions {
		errs = append(errs, d.check(dir, p))
	}
	for _, h := range findHidden(p, definitions) {
		errs = append(errs, h.describe(dir, p.Fset))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return run(ctx, dir, p, definitions)
}
