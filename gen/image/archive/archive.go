// Package archive is the file format of kernel images: compiled kernels in
// modules, each for one target and one precision, with the digest of the source
// they were compiled from.
//
// Modules are much alike, so they are compressed together, in streams: those of a
// target, and of machine code those of the two 16-bit precisions and those of the
// others, each in a few parts. A module of one precision is followed by that of the
// other, so that a reader gets the first one that it wants at once, whichever it
// is. A reader decompresses parts side by side, each up to the last module that it
// wants.
//
// A file is the text "reprise kernel image 2\n", the length of the index as a
// little-endian 64-bit number, the index as JSON, and the streams one after
// another, each a Zstandard frame.
package archive

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
)

const magic = "reprise kernel image 2\n"

// window is how far back a stream may refer. It spans the code of one precision
// many times over.
const window = 32 << 20

// parts is how many streams share the modules of a kind. Decompression takes as
// long as the driver takes to load what comes out of it.
const parts = 4

// mostAtOnce is how many bytes are allocated because an index says so.
const mostAtOnce = 1 << 20

// Image is a set of compiled kernels of one stage.
type Image struct {
	Source   string   `json:"source"`   // SHA-256 of the text it was compiled from
	Compiler string   `json:"compiler"` // name and version
	Targets  []string `json:"targets"`  // such as sm_90 and compute_80
	Modules  []Module `json:"modules"`
	Streams  []Stream `json:"streams"` // Encode sets them

	data []byte // of all streams
}

// Module is one piece of code that the driver loads: a cubin or PTX.
type Module struct {
	Target    string   `json:"target"`         // one of the image's
	Precision string   `json:"precision"`      // fp32, tf32, fp16 or bf16
	Wide      bool     `json:"wide,omitempty"` // 64-bit indices
	Kernels   []string `json:"kernels"`        // names in the module
	Size      int      `json:"size"`           // bytes; Encode sets it
	Data      []byte   `json:"-"`              // Encode wants it, Load gives it
}

// Stream is some modules in a row, compressed together.
type Stream struct {
	Modules int `json:"modules"` // the next so many of the image
	Size    int `json:"size"`    // bytes of the frame
}

// Waits tells whether the kernels of a target begin by waiting for the launch
// before. The PTX that a target is assembled from and the way its kernels may be
// launched both follow from it.
func Waits(target string) bool { return strings.HasPrefix(target, "sm_9") }

// Name is the name of the file of an image that does not lie beside its source,
// whose digest is given.
func Name(source string) string { return source + ".image" }

// form is what a fit loads all modules of.
type form struct {
	target, precision string
	wide              bool
}

// placed is a module with the name of its stream and its place among those of its
// form.
type placed struct {
	Module
	stream string
	number int
}

// place gives modules their streams. Those of one form are parted in their order,
// in which neighbours are alike; the parts of the two 16-bit precisions, which are
// alike too, share streams.
func place(modules []Module) []placed {
	total, seen := map[form]int{}, map[form]int{}
	for _, m := range modules {
		total[form{m.Target, m.Precision, m.Wide}]++
	}
	var out []placed
	for _, m := range modules {
		f := form{m.Target, m.Precision, m.Wide}
		name := m.Target
		if strings.HasPrefix(m.Target, "sm_") && (m.Precision == "fp16" || m.Precision == "bf16") {
			name += " of 16 bits"
		}
		out = append(out, placed{m, fmt.Sprintf("%s, part %d", name, seen[f]*parts/total[f]), seen[f]})
		seen[f]++
	}
	return out
}

// Encode prints an image. The same image gives the same bytes.
func Encode(image *Image) ([]byte, error) {
	index := *image
	index.Modules, index.Streams = nil, nil
	modules := place(image.Modules)
	slices.SortStableFunc(modules, func(a, b placed) int {
		wide := map[bool]int{true: 1}
		return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(wide[a.Wide], wide[b.Wide]), cmp.Compare(a.number, b.number), cmp.Compare(a.Precision, b.Precision))
	})
	var streams []*bytes.Buffer
	for i, m := range modules {
		m.Size = len(m.Data)
		if i == 0 || m.stream != modules[i-1].stream {
			streams, index.Streams = append(streams, new(bytes.Buffer)), append(index.Streams, Stream{})
		}
		streams[len(streams)-1].Write(m.Data)
		index.Streams[len(streams)-1].Modules++
		index.Modules = append(index.Modules, m.Module)
	}
	frames, err := compress(streams)
	if err != nil {
		return nil, err
	}
	for i, f := range frames {
		index.Streams[i].Size = len(f)
	}
	head, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	out := append([]byte(magic), binary.LittleEndian.AppendUint64(nil, uint64(len(head)))...)
	return append(append(out, head...), bytes.Join(frames, nil)...), nil
}

func compress(streams []*bytes.Buffer) ([][]byte, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window))
	if err != nil {
		return nil, err
	}
	frames := make([][]byte, len(streams))
	var group errgroup.Group
	for i, s := range streams {
		group.Go(func() error {
			frames[i] = encoder.EncodeAll(s.Bytes(), nil)
			return nil
		})
	}
	return frames, errors.Join(group.Wait(), encoder.Close())
}

var errDamaged = errors.New("the file is damaged")

// Decode reads the index of an image. The modules have no data yet; Load gives
// them, and the bytes must stay as they are until then.
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
	image.data = rest[length:]
	modules, bytes := len(image.Modules), len(image.data)
	for _, s := range image.Streams {
		if s.Modules < 1 || s.Modules > modules || s.Size < 1 || s.Size > bytes {
			return nil, errDamaged
		}
		modules -= s.Modules
		bytes -= s.Size
	}
	if modules != 0 || bytes != 0 {
		return nil, errDamaged
	}
	return image, nil
}

// Load gives the wanted modules with their data.
func (image *Image) Load(wanted func(Module) bool) ([]Module, error) {
	var out []Module
	err := image.Each(wanted, func(m Module) { out = append(out, m) })
	return out, err
}

// Each gives the wanted modules with their data one after another, in their order,
// each as soon as it is decompressed.
func (image *Image) Each(wanted func(Module) bool, give func(Module)) error {
	modules, data := image.Modules, image.data
	var streams []*reading
	for _, s := range image.Streams {
		if of := modules[:s.Modules]; slices.ContainsFunc(of, wanted) {
			streams = append(streams, &reading{of, data[:s.Size], make(chan Module, s.Modules), nil})
		}
		modules, data = modules[s.Modules:], data[s.Size:]
	}
	go func() {
		var group errgroup.Group
		group.SetLimit(max(1, runtime.GOMAXPROCS(0)-1)) // one processor is for who takes them
		for _, s := range streams {
			group.Go(func() error { s.read(wanted); return nil })
		}
	}()
	var errs []error
	for _, s := range streams {
		for m := range s.ready {
			give(m)
		}
		errs = append(errs, s.err)
	}
	return errors.Join(errs...)
}

// reading is a stream that is being decompressed.
type reading struct {
	modules []Module
	frame   []byte
	ready   chan Module // has room for all modules, so that nobody waits to send
	err     error       // set before ready is closed
}

func (r *reading) read(wanted func(Module) bool) {
	defer close(r.ready)
	r.err = each(r.modules, r.frame, wanted, func(m Module) { r.ready <- m })
}

// each decompresses a stream up to the last wanted module.
func each(modules []Module, frame []byte, wanted func(Module) bool, give func(Module)) error {
	end := 0
	for i, m := range modules {
		if m.Size < 0 {
			return errDamaged
		}
		if wanted(m) {
			end = i + 1
		}
	}
	reader, err := zstd.NewReader(bytes.NewReader(frame), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	defer reader.Close()
	for _, m := range modules[:end] {
		if !wanted(m) {
			_, err = io.CopyN(io.Discard, reader, int64(m.Size))
		} else {
			var text bytes.Buffer
			text.Grow(min(m.Size, mostAtOnce))
			_, err = io.CopyN(&text, reader, int64(m.Size))
			m.Data = text.Bytes()
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		if wanted(m) {
			give(m)
		}
	}
	return nil
}
