package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reprise-ml/reprise/gen/image/archive"
)

// Discard removes the kernel images of a generated package that were not built
// from the source that lies there now, and lists them. Images of stages that are
// gone are removed too.
func Discard(dir string) (removed []string, err error) {
	paths, err := filepath.Glob(filepath.Join(escape(dir), "*"+sourceSuffix+Suffix))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		current, err := isCurrent(path)
		if err != nil {
			return removed, err
		}
		if current {
			continue
		}
		if err := os.Remove(path); err != nil {
			return removed, fmt.Errorf("%w; remove it by hand, it belongs to other source", err)
		}
		removed = append(removed, path)
	}
	return removed, nil
}

// isCurrent tells whether an image was built from the source beside it.
func isCurrent(path string) (bool, error) {
	source := path[:len(path)-len(Suffix)]
	if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	s, err := readSource(source)
	if err != nil {
		return false, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	image, err := archive.Decode(data)
	return err == nil && image.Source == s.digest, nil
}
