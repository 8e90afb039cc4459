package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Suffix is what the name of a kernel image has after that of its source.
const Suffix = ".image"

// sourceSuffix ends the names of kernel sources.
const sourceSuffix = "_gen.cu"

// marker starts every kernel of a generated source.
var marker = []byte(`extern "C" __global__`)

var kernelName = regexp.MustCompile(`REPRISE_NAME\((\w+)\)`)

// source is the kernel text of one stage.
type source struct {
	path   string
	digest string // of the CUDA and C text of the stage, as in the generated Go
	groups []group
}

// group is the kernels of one file of device code.
type group struct {
	common  []byte // what each of them needs
	kernels []kernel
}

type kernel struct {
	name string // without the suffix of the precision
	text []byte
}

// sources finds the kernel sources of a generated package.
func sources(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(escape(dir), "*"+sourceSuffix))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: there is no kernel source *%s in it; run go generate, or name a generated package", dir, sourceSuffix)
	}
	return paths, nil
}

// escape makes a folder name match itself alone.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// readSource reads a kernel source and the C that belongs to it.
func readSource(path string) (*source, error) {
	sum := sha256.New()
	var text []byte
	stem := strings.TrimSuffix(path, ".cu")
	for _, name := range []string{path, stem + ".c", stem + ".h"} {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: it is missing; run go generate", name)
		}
		if err != nil {
			return nil, err
		}
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) // a checkout may have turned line ends
		sum.Write(data)
		if name == path {
			text = data
		}
	}
	s := &source{path: path, digest: hex.EncodeToString(sum.Sum(nil))}
	if err := s.read(text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// read finds the kernels of a source.
func (s *source) read(text []byte) error {
	all := sections(text)
	for _, part := range all {
		file, found := strings.CutPrefix(part.name, "kernels of ")
		if !found {
			continue
		}
		var g group
		var err error
		if g.common, err = commonFor(all, file); err != nil {
			return err
		}
		for _, p := range bytes.Split(part.text, marker)[1:] {
			name := kernelName.FindSubmatch(p)
			if name == nil {
				return errors.New("a kernel has no REPRISE_NAME; run go generate")
			}
			g.kernels = append(g.kernels, kernel{string(name[1]), append(bytes.Clone(marker), p...)})
		}
		s.groups = append(s.groups, g)
	}
	if len(s.groups) == 0 {
		return errors.New("there is no kernel in it; run go generate")
	}
	return nil
}

// unit is some kernels of a source that are compiled together.
type unit struct {
	names []string
	text  []byte
}

// Units have about meanLength kernels: compilers need a quarter of a second for
// the common text alone, as for one or two kernels, and a change should touch few
// kernels. None has more than maxLength, so that all processors have work to the
// end.
const (
	meanLength = 4
	maxLength  = 8
)

// units cuts a source. The cuts depend on the names of the kernels next to them,
// so a new kernel leaves all units but those near it as they are.
func (s *source) units() []unit {
	var out []unit
	for _, g := range s.groups {
		next := unit{text: g.common}
		for i, k := range g.kernels {
			next.names = append(next.names, k.name)
			next.text = append(next.text[:len(next.text):len(next.text)], k.text...)
			sum := fnv.New32a()
			sum.Write([]byte(k.name))
			if sum.Sum32()%meanLength == 0 || len(next.names) == maxLength || i == len(g.kernels)-1 {
				out = append(out, next)
				next = unit{text: g.common}
			}
		}
	}
	return out
}
