package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Write makes the changes. Every new file is complete on disk under a temporary
// name before the first one takes its place, and the manifest takes its place
// last, so that an interrupted run is seen as stale. On an error everything is
// as it was. Files that have not changed are not touched.
func (c Changes) Write() error {
	if len(c.Files) == 0 {
		return nil
	}
	made, err := makeFolders(c.Dir)
	if err != nil {
		return fmt.Errorf("%w; make the folder writable, or choose another one with -out", err)
	}
	err = c.replace()
	if err == nil {
		return nil
	}
	for _, dir := range made { // innermost first; the others are not empty before
		err = errors.Join(err, os.Remove(dir))
	}
	return fmt.Errorf("%w; nothing was changed: make the folder writable, or choose another one with -out", err)
}

func (c Changes) replace() error {
	pending := make([]*renameio.PendingFile, len(c.Files))
	defer func() {
		for _, p := range pending {
			if p != nil {
				p.Cleanup() // nothing to do once it has taken its place
			}
		}
	}()
	for i, f := range c.Files {
		if f.New == nil {
			continue
		}
		p, err := renameio.NewPendingFile(filepath.Join(c.Dir, f.Name),
			renameio.WithTempDir(c.Dir), renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
		if err != nil {
			return err
		}
		pending[i] = p
		if _, err := p.Write(f.New); err != nil {
			return err
		}
	}
	for i := range c.Files {
		if err := c.settle(i, pending[i]); err != nil {
			return errors.Join(err, c.restore(i))
		}
	}
	return nil
}

// settle puts one file in its place, or removes it.
func (c Changes) settle(i int, p *renameio.PendingFile) error {
	if p == nil {
		return os.Remove(filepath.Join(c.Dir, c.Files[i].Name))
	}
	return p.CloseAtomicallyReplace()
}

// restore takes the first n changes back.
func (c Changes) restore(n int) error {
	var errs []error
	for _, f := range c.Files[:n] {
		path := filepath.Join(c.Dir, f.Name)
		if f.Old == nil {
			errs = append(errs, os.Remove(path))
			continue
		}
		errs = append(errs, renameio.WriteFile(path, f.Old, 0o644, renameio.WithTempDir(c.Dir), renameio.WithExistingPermissions()))
	}
	return errors.Join(errs...)
}

// makeFolders makes a folder and those above it, and lists the ones that were
// missing, innermost first.
func makeFolders(dir string) ([]string, error) {
	var made []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, d)
	}
	return made, os.MkdirAll(dir, 0o755)
}
