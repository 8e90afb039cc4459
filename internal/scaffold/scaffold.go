// Package scaffold starts a module of the user's own with a network of the
// family: another scale or number of classes than the packages that ship.
package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/mod/module"

	"github.com/reprise-ml/reprise/internal/inspect"
)

// Request says what to start.
type Request struct {
	Dir            string // new or empty
	Module         string // module path; empty means example.com/ and the name of Dir
	Task           string
	Scale          string // letter
	Classes        int
	ClassesGiven   bool // else the number of classes of the published model
	Keypoints      int  // of an object
	KeypointsGiven bool // else that of the published model
}

// Far above every data set; more is a mistake in typing.
const (
	maxClasses   = 100_000
	maxKeypoints = 10_000
)

// complete checks the request and fills in what was left out.
func (r Request) complete() (Request, error) {
	network, err := inspect.FindNetwork(r.Task)
	if err != nil {
		return r, fmt.Errorf("-task: %w", err)
	}
	if _, err := inspect.FindScale(r.Scale); err != nil {
		return r, fmt.Errorf("-scale: %w", err)
	}
	if !r.ClassesGiven {
		r.Classes = network.Classes
	}
	if r.Classes < 1 || r.Classes > maxClasses {
		return r, fmt.Errorf("-classes: %d is not a number of classes; use 1 to %d", r.Classes, maxClasses)
	}
	switch {
	case !r.KeypointsGiven:
		r.Keypoints = network.Keypoints
	case network.Keypoints == 0:
		return r, fmt.Errorf("-keypoints: the task %s has none; leave it out", r.Task)
	case r.Keypoints < 1 || r.Keypoints > maxKeypoints:
		return r, fmt.Errorf("-keypoints: %d is not a number of keypoints; use 1 to %d", r.Keypoints, maxKeypoints)
	}
	if r.Dir, err = filepath.Abs(r.Dir); err != nil {
		return r, err
	}
	if r.Module == "" {
		r.Module = path.Join("example.com", filepath.Base(r.Dir))
	}
	if err := module.CheckImportPath(r.Module); err != nil {
		return r, fmt.Errorf("-module: %w; give a path such as example.com/ships", err)
	}
	return r, nil
}

// Write makes the module: all of it or nothing.
func Write(ctx context.Context, request Request) error {
	r, err := request.complete()
	if err != nil {
		return err
	}
	if err := vacant(r.Dir); err != nil {
		return err
	}
	files, err := render(ctx, r)
	if err != nil {
		return err
	}
	parent := filepath.Dir(r.Dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(parent, ".reprise-new")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for name, data := range files {
		target := filepath.Join(temp, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	if err := os.Remove(r.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(temp, r.Dir)
}

// vacant refuses a folder with something in it.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w; choose another folder", err)
	case len(entries) > 0:
		return fmt.Errorf("%s: the folder is not empty; choose another one", dir)
	}
	return nil
}
