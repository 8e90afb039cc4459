package scaffold

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/modfile"
)

// ownPath is the path of the module of this code.
const ownPath = "github.com/reprise-ml/reprise"

// source is where the running command came from: a checkout, which the new
// module is to use as it is, or a released version.
type source struct {
	checkout     string // folder; empty for a release
	version      string // to require
	goMod, goSum []byte
}

// findSource finds the checkout that the command was built from or, without
// one, the release.
func findSource(ctx context.Context) (source, error) {
	if dir, found := checkout(); found {
		s := source{checkout: dir, version: "v0.0.0"}
		return s, s.read(dir)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return source{}, fmt.Errorf("the command does not know its version; build it with the go command")
	}
	version := info.Main.Version
	if info.Main.Path != ownPath {
		for _, d := range info.Deps {
			if d.Path == ownPath {
				version = d.Version
			}
		}
	}
	return release(ctx, version)
}

// checkout is the folder of this file's module, if it is still there and is no
// copy in a module cache, which is a release.
func checkout() (dir string, found bool) {
	_, file, _, _ := runtime.Caller(0)
	dir = filepath.Dir(filepath.Dir(filepath.Dir(file)))
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || modfile.ModulePath(data) != ownPath || strings.Contains(filepath.ToSlash(dir), ownPath+"@") {
		return "", false
	}
	return dir, true
}

func (s *source) read(dir string) (err error) {
	if s.goMod, err = os.ReadFile(filepath.Join(dir, "go.mod")); err != nil {
		return err
	}
	s.goSum, err = os.ReadFile(filepath.Join(dir, "go.sum"))
	return err
}

// release asks the go command for the files of a released version.
func release(ctx context.Context, version string) (source, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", ownPath+"@"+version)
	command.Dir = os.TempDir()
	var problem bytes.Buffer
	command.Stderr = &problem
	output, err := command.Output()
	var found struct{ Dir, Version, Sum, GoModSum, Error string }
	if jsonErr := json.Unmarshal(output, &found); err != nil || jsonErr != nil {
		return source{}, fmt.Errorf("%s@%s: %s; run the command from a checkout, or install a release with go install", ownPath, version, strings.TrimSpace(found.Error+" "+problem.String()))
	}
	s := source{version: found.Version}
	if err := s.read(found.Dir); err != nil {
		return source{}, err
	}
	s.goSum = fmt.Appendf(s.goSum, "%s %s %s\n%s %s/go.mod %s\n", ownPath, found.Version, found.Sum, ownPath, found.Version, found.GoModSum)
	return s, nil
}

// replacement is the path of the checkout as go.mod is to name it: relative
// while both are near each other, so that they can be moved together.
func replacement(dir, checkout string) string {
	const near = 2
	rel, err := filepath.Rel(dir, checkout)
	if err != nil || strings.Count(rel, "..") > near {
		return checkout
	}
	return filepath.ToSlash(rel)
}
