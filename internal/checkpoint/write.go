package checkpoint

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"github.com/nlpodyssey/safetensors"
)

// Keys of the file's metadata.
const (
	formatKey  = "format"
	formatName = "reprise-checkpoint"
	stateKey   = "state"
	digestKey  = "sha256" // of the state and all tensors; files of before have none
)

// filePermissions of a new checkpoint, before the umask.
const filePermissions os.FileMode = 0o644

// Encode writes a state as one safetensors stream. Equal states give equal
// bytes. Version is filled in; a state that Decode would refuse is an error.
func Encode(w io.Writer, s *State) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	meta := s.Meta
	meta.Version = Version
	text, err := json.Marshal(meta) // map keys are written in sorted order
	if err != nil {
		return fmt.Errorf("checkpoint: metadata: %w", err)
	}
	tensors := map[string]view{}
	for _, t := range s.Model {
		tensors[t.Name] = view{t}
	}
	for _, f := range s.families() {
		for _, t := range *f.tensors {
			tensors[f.prefix+t.Name] = view{t}
		}
	}
	// The library orders tensors by type and name.
	if err := safetensors.SerializeToWriter(tensors, map[string]string{formatKey: formatName, stateKey: string(text), digestKey: content(string(text), s)}, w); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Save writes a state to path. The file appears, or replaces the one before it,
// complete and synced, or not at all.
func Save(path string, s *State) (err error) {
	// Beside the target, a rename cannot cross file systems.
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(filePermissions), renameio.WithTempDir(filepath.Dir(path)))
	if err != nil {
		return fmt.Errorf("%s: cannot write the checkpoint: %w", path, err)
	}
	defer func() {
		// After the replacement this does nothing.
		if cleanup := file.Cleanup(); cleanup != nil && err == nil {
			err = fmt.Errorf("%s: cannot write the checkpoint: %w", path, cleanup)
		}
	}()
	buffer := bufio.NewWriter(file)
	if err := Encode(buffer, s); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := buffer.Flush(); err != nil {
		return fmt.Errorf("%s: cannot write the checkpoint: %w", path, err)
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("%s: cannot write the checkpoint: %w", path, err)
	}
	return nil
}
