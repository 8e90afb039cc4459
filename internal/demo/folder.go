package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// written matches the files of the scenes of a demo.
var written = regexp.MustCompile(`^(data\.yaml|images/(train|val)/scene\d{5}\.png|labels/(train|val)/scene\d{5}\.txt)$`)

// removeScenes removes the scenes of an earlier demo, and refuses a folder that
// holds anything else.
func removeScenes(folder string) error {
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err == nil && !written.MatchString(filepath.ToSlash(name)) {
			err = fmt.Errorf("%s is not of a demo and would be removed", file)
		}
		return err
	})
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.RemoveAll(folder)
	}
	if err != nil {
		return fmt.Errorf("-out: %w; give another folder", err)
	}
	return nil
}
