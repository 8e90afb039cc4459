package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/google/renameio/v2"
	"golang.org/x/sync/errgroup"

	"github.com/reprise-ml/reprise/gen/image/archive"
)

// Config says what to build.
type Config struct {
	Compiler *Compiler
	Variants []Variant

	// Cache is the folder that keeps compiled units; empty means one in the
	// user's cache folder.
	Cache string

	// Out, when not empty, is the folder that images are written to, under names
	// that follow from their source, in place of beside it.
	Out string

	// Jobs is the number of compilers that run at a time; 0 means one for each
	// processor.
	Jobs int
}

// Result is one image that was built.
type Result struct {
	Path     string
	Bytes    int
	Units    int // of all variants
	Compiled int // units that the cache did not have
}

// Build writes the kernel image of every stage of a generated package beside its
// source. When a stage cannot be compiled, its old image is removed: it would
// belong to other source.
func Build(ctx context.Context, dir string, config Config) ([]Result, error) {
	if len(config.Variants) == 0 {
		return nil, errors.New("no precision was asked for; name one of " + strings.Join(Precisions, ", "))
	}
	paths, err := sources(dir)
	if err != nil {
		return nil, err
	}
	if config.Cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("there is no cache folder: %w; name one with -cache", err)
		}
		config.Cache = filepath.Join(user, "reprise", "kernels")
	}
	if err := os.MkdirAll(config.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("%w; name another folder with -cache", err)
	}
	if config.Out != "" {
		if err := os.MkdirAll(config.Out, 0o755); err != nil {
			return nil, fmt.Errorf("%w; name another folder with -out", err)
		}
	}
	var results []Result
	for _, path := range paths {
		result, err := build(ctx, path, config)
		if err != nil && config.Out == "" {
			err = errors.Join(err, remove(path+Suffix))
		}
		if err != nil {
			return results, err
		}
		results = append(results, result)
	}
	return results, nil
}

// remove removes a file that may not exist.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func build(ctx context.Context, path string, config Config) (Result, error) {
	s, err := readSource(path)
	if err != nil {
		return Result{}, err
	}
	units, targets := s.units(), config.Compiler.Targets
	objects := make([][][]byte, len(units)*len(config.Variants)) // by variant, unit and target
	result := Result{Path: path + Suffix, Units: len(objects)}
	if config.Out != "" {
		result.Path = filepath.Join(config.Out, archive.Name(s.digest))
	}
	var mu sync.Mutex // guards result
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(jobs(config.Jobs))
	for i, v := range config.Variants {
		for j, u := range units {
			group.Go(func() error {
				made, fresh, err := config.object(ctx, u, v)
				if err != nil {
					return fmt.Errorf("%s: kernels %s in %s: %w", path, strings.Join(u.names, ", "), v.Precision, err)
				}
				objects[i*len(units)+j] = made
				mu.Lock()
				defer mu.Unlock()
				if fresh {
					result.Compiled++
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return Result{}, err
	}
	image := &archive.Image{Source: s.digest, Compiler: config.Compiler.Version, Targets: slices.Clone(targets)}
	for i, v := range config.Variants {
		for j, u := range units {
			for k, target := range targets {
				image.Modules = append(image.Modules, archive.Module{Target: target, Precision: v.Precision, Wide: v.Wide, Kernels: u.symbols(v), Data: objects[i*len(units)+j][k]})
			}
		}
	}
	data, err := archive.Encode(image)
	if err != nil {
		return Result{}, err
	}
	result.Bytes = len(data)
	return result, renameio.WriteFile(result.Path, data, 0o644, renameio.WithTempDir(filepath.Dir(result.Path)))
}

func jobs(wanted int) int {
	if wanted > 0 {
		return wanted
	}
	return runtime.NumCPU()
}

// symbols are the names of a unit's kernels in a module.
func (u unit) symbols(v Variant) []string {
	suffix := "_" + v.Precision
	if v.Wide {
		suffix += "_wide"
	}
	var out []string
	for _, n := range u.names {
		out = append(out, n+suffix)
	}
	return out
}

// object gives the compiled forms of a unit, one for each target, from the cache
// if they are there.
func (c Config) object(ctx context.Context, u unit, v Variant) (data [][]byte, fresh bool, err error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q\n", c.Compiler.Name, c.Compiler.Version)
	for _, target := range c.Compiler.Targets {
		fmt.Fprintf(sum, "%s %q\n", target, c.Compiler.arguments(v, assembledFrom(target)))
	}
	sum.Write(u.text)
	kept := filepath.Join(c.Cache, hex.EncodeToString(sum.Sum(nil)))
	for _, target := range c.Compiler.Targets {
		known, err := os.ReadFile(kept + "." + target)
		if err != nil {
			break
		}
		data = append(data, known)
	}
	if len(data) == len(c.Compiler.Targets) {
		return data, false, nil
	}
	dir, err := os.MkdirTemp("", "reprise-kernels-")
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	if data, err = c.Compiler.compile(ctx, u.text, v, dir); err != nil {
		return nil, false, err
	}
	for i, target := range c.Compiler.Targets {
		if err := renameio.WriteFile(kept+"."+target, data[i], 0o644, renameio.WithTempDir(c.Cache)); err != nil {
			return nil, false, err
		}
	}
	return data, true, nil
}
