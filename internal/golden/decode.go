package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maximumFile bounds a reference file; real ones have less than a megabyte.
const maximumFile = 64 << 20

// readJSON reads the JSON file at path into value, refusing unknown fields,
// anything after the value, and files beyond the limit.
func readJSON(path string, value any) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot open the reference file: %w", err)
	}
	defer func() { _ = file.Close() }() // opened for reading only
	data, err := io.ReadAll(io.LimitReader(file, maximumFile+1))
	if err != nil {
		return fmt.Errorf("%s: cannot read the reference file: %w", path, err)
	}
	if len(data) > maximumFile {
		return fmt.Errorf("%s: not a reference file: larger than %d bytes", path, maximumFile)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		return fmt.Errorf("%s:%d: not a reference file: %w", path, lineAt(data, decoder.InputOffset(), err), err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s:%d: not a reference file: more follows its end", path, lineAt(data, decoder.InputOffset(), nil))
	}
	return nil
}

// lineAt is the line, from 1, of an error where it tells its place, and of the
// offset otherwise.
func lineAt(data []byte, offset int64, err error) int {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}
