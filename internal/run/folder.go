package run

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/reprise-ml/reprise/internal/config"
	"github.com/reprise-ml/reprise/internal/trainer"
)

// SettingsName is the file of the resolved settings in a run folder.
const SettingsName = "settings.yaml"

// keepEarlier refuses a fit whose checkpoints would replace those of another one:
// hours of training would be lost by a command that is given twice. A fit may go
// on in the folder that it resumes from.
func keepEarlier(s *config.Settings) error {
	if s.Run.Dir == "" || s.Run.Overwrite || s.Run.Resume != "" && sameFile(s.Run.Dir, filepath.Dir(s.Run.Resume)) {
		return nil
	}
	earlier := filepath.Join(s.Run.Dir, trainer.CheckpointName)
	if _, err := os.Lstat(earlier); err != nil {
		return nil // a folder that cannot be used is an error where it is used
	}
	return fmt.Errorf("run.dir: %s is the checkpoint of another fit and would be replaced; give another --run.dir, go on with --run.resume=%s, or set --run.overwrite", earlier, earlier)
}

// sameFile tells whether two paths, however written, lead to one file.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// prepareFolder writes the resolved settings beside the checkpoints, and removes
// what a killed fit left there. A fit without a folder needs neither.
func prepareFolder(s *config.Settings, log io.Writer) error {
	if s.Run.Dir == "" {
		return nil
	}
	text, err := s.YAML()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Run.Dir, 0o755); err != nil {
		return fmt.Errorf("run.dir: %w; give a folder that can be written", err)
	}
	if err := removeLeftovers(s.Run.Dir, log); err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(s.Run.Dir, SettingsName), text, 0o644)
}

// removeLeftovers removes the unfinished files of a process that was killed while
// it wrote a checkpoint: they are named like the checkpoint with a dot before and
// a number behind, and nobody will finish them.
func removeLeftovers(dir string, log io.Writer) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("run.dir: %w; make the folder readable", err)
	}
	for _, entry := range entries {
		number, unfinished := strings.CutPrefix(entry.Name(), "."+trainer.CheckpointName)
		if !unfinished || number == "" || strings.Trim(number, "0123456789") != "" || !entry.Type().IsRegular() {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("run.dir: %w; remove the file", err)
		}
		if log != nil {
			fmt.Fprintf(log, "removed %s, an unfinished checkpoint of a fit that was killed\n", entry.Name())
		}
	}
	return nil
}
