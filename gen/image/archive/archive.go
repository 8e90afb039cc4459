// Package archive is the file format of kernel images: compiled kernels in
// modules, each for one precision, with the digest of the source they were
// compiled from.
//
// A file is the text "reprise kernel image 1\n", the length of the index as a
// little-endian 64-bit number, the index as JSON, and the modules one after
// another, each on a boundary of 16 bytes from the end of the index.
package archive

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

const magic = "reprise kernel image 1\n"

const alignment = 16

// Image is a set of compiled kernels of one stage.
type Image struct {
	Source   string   `json:"source"`   // SHA-256 of the text it was compiled from
	Compiler string   `json:"compiler"` // name and version
	Targets  []string `json:"targets"`  // such as sm_90 and compute_80
	Modules  []Module `json:"modules"`
}

// Module is one image that the driver loads: a fat binary, a cubin or PTX.
type Module struct {
	Precision string   `json:"precision"`      // fp32, tf32, fp16 or bf16
	Wide      bool     `json:"wide,omitempty"` // 64-bit indices
	Kernels   []string `json:"kernels"`        // names in the module
	Offset    int      `json:"offset"`         // bytes from the end of the index; Encode sets it
	Size      int      `json:"size"`           // bytes; Encode sets it
	Data      []byte   `json:"-"`
}

// Encode prints an image. The same image gives the same bytes.
func Encode(image *Image) ([]byte, error) {
	index := *image
	index.Modules = append([]Module(nil), image.Modules...)
	var data bytes.Buffer
	for i := range index.Modules {
		m := &index.Modules[i]
		m.Offset, m.Size = data.Len(), len(m.Data)
		data.Write(m.Data)
		data.Write(make([]byte, (alignment-m.Size%alignment)%alignment))
	}
	head, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	out := append([]byte(magic), binary.LittleEndian.AppendUint64(nil, uint64(len(head)))...)
	return append(append(out, head...), data.Bytes()...), nil
}

var errDamaged = errors.New("the file is damaged")

// Decode reads an image. The modules' data are parts of the given bytes.
func Decode(data []byte) (*Image, error) {
	rest, found := bytes.CutPrefix(data, []byte(magic))
	if !found {
		return nil, errors.New("the file is no kernel image of this version")
	}
	if len(rest) < 8 {
		return nil, errDamaged
	}
	length := binary.LittleEndian.Uint64(rest)
	rest = rest[8:]
	if length > uint64(len(rest)) {
		return nil, errDamaged
	}
	image := new(Image)
	if err := json.Unmarshal(rest[:length], image); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	rest = rest[length:]
	for i := range image.Modules {
		m := &image.Modules[i]
		if m.Offset < 0 || m.Size < 0 || m.Offset > len(rest) || m.Size > len(rest)-m.Offset {
			return nil, errDamaged
		}
		m.Data = rest[m.Offset:][:m.Size:m.Size]
	}
	return image, nil
}
