package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/nlpodyssey/safetensors"
)

// Limits of what a reader takes into memory. The largest YOLO26 network has 59
// million parameters: 0.9 GB with shadow, momentum and gradients.
const (
	maximumHeader = 16 << 20
	maximumFile   = 8 << 30
	lengthBytes   = 8 // the header length in front of the header
)

// Load reads the checkpoint at path. Its header is checked against the size of
// the file before the tensors are read, so a damaged file costs no more memory
// than its size. Anything but a checkpoint of this format version is an error.
func Load(path string) (*State, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the checkpoint: %w", err)
	}
	defer func() { _ = file.Close() }() // opened for reading only
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot open the checkpoint: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file; name a checkpoint file", path)
	}
	data := make([]byte, lengthBytes)
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, fmt.Errorf("%s: not a checkpoint: %d bytes are too few", path, info.Size())
	}
	if err := checkLengths(data, info.Size()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	data = slices.Grow(data, int(info.Size())-lengthBytes)[:info.Size()]
	if _, err := io.ReadFull(file, data[lengthBytes:]); err != nil {
		return nil, fmt.Errorf("%s: cannot read the checkpoint: %w", path, err)
	}
	state, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return state, nil
}

// checkLengths compares the header length in the first bytes with the file size.
func checkLengths(start []byte, size int64) error {
	if size > maximumFile {
		return fmt.Errorf("not a checkpoint: %d bytes are more than the limit of %d", size, int64(maximumFile))
	}
	header := binary.LittleEndian.Uint64(start)
	if header > maximumHeader || header > uint64(size-lengthBytes) {
		return fmt.Errorf("not a checkpoint, or a truncated one: its header claims %d of %d bytes", header, size)
	}
	return nil
}

// Decode reads what Encode wrote. The state's tensors share the memory of data.
func Decode(data []byte) (*State, error) {
	if len(data) < lengthBytes {
		return nil, fmt.Errorf("not a checkpoint: %d bytes are too few", len(data))
	}
	if err := checkLengths(data, int64(len(data))); err != nil {
		return nil, err
	}
	headerLength, header, err := safetensors.ReadMetadata(data)
	if err != nil {
		return nil, fmt.Errorf("not a checkpoint, or a damaged one: %w", err)
	}
	state := new(State)
	if state.Meta, err = decodeMeta(header.Metadata()); err != nil {
		return nil, err
	}
	state.distribute(header.Tensors(), data[lengthBytes+headerLength:])
	if err := state.check(); err != nil {
		return nil, fmt.Errorf("damaged checkpoint: %w", err)
	}
	if want, kept := header.Metadata()[digestKey]; kept && want != content(header.Metadata()[stateKey], state) {
		return nil, errors.New("damaged checkpoint: its content is not what was written; use an earlier one or a copy")
	}
	return state, nil
}

// decodeMeta reads the metadata and refuses other formats and versions.
func decodeMeta(metadata map[string]string) (Meta, error) {
	if format := metadata[formatKey]; format != formatName {
		return Meta{}, fmt.Errorf("a safetensors file of format %q, not a %s; give a checkpoint that this program wrote", format, formatName)
	}
	text := metadata[stateKey]
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &version); err != nil {
		return Meta{}, fmt.Errorf("damaged checkpoint: metadata: %w", err)
	}
	if version.Version != Version {
		return Meta{}, fmt.Errorf("checkpoint has format version %d, this program reads %d; use the program version that wrote it", version.Version, Version)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	var meta Meta
	if err := decoder.Decode(&meta); err != nil {
		return Meta{}, fmt.Errorf("damaged checkpoint: metadata: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Meta{}, errors.New("damaged checkpoint: metadata goes on after its end")
	}
	return meta, nil
}

// distribute sorts the tensors by name into their families. The header has been
// checked: the tensors lie in data one after another and fill it.
func (s *State) distribute(infos map[string]*safetensors.TensorInfo, data []byte) {
	names := make([]string, 0, len(infos))
	for name := range infos {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		info := infos[name]
		begin, end := info.DataOffsets[0], info.DataOffsets[1]
		tensor := Tensor{Name: name, shape: info.Shape, dtype: info.DType, data: data[begin:end:end]}
		target := &s.Model
		for _, f := range s.families() {
			if rest, ok := strings.CutPrefix(name, f.prefix); ok {
				tensor.Name, target = rest, f.tensors
			}
		}
		*target = append(*target, tensor)
	}
}
