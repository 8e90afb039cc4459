package emit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/reprise-ml/reprise/gen/cost"
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/templates"
)

// ManifestName is the file that lists what was generated.
const ManifestName = "manifest.json"

// Manifest is what a reviewer reads first: what changed and by how much. It
// also tells the next generation which files are its own.
type Manifest struct {
	Generated   string         `json:"generated"` // Header
	Tools       Tools          `json:"tools"`
	Package     string         `json:"package"`
	Definitions []string       `json:"definitions"` // import paths
	Stages      []StageSummary `json:"stages"`
	Files       []FileSummary  `json:"files"`
}

// Tools are the versions that decide what is printed. Versions of Go and of
// compilers that are installed do not.
type Tools struct {
	Plan   int    `json:"planFormat"`
	Device string `json:"device"` // what compiles the device text
}

// deviceTools is what the kernels are written for; which toolkit compiles them
// is named by the image that it makes.
const deviceTools = "CUDA C++17, compute capability 8.0 and up"

// StageSummary is one stage in numbers.
type StageSummary struct {
	Name         string       `json:"name"`
	Digest       string       `json:"digest"`
	Unrecordable string       `json:"unrecordable,omitempty"`
	Elements     int          `json:"parameters"` // trainable numbers
	Parameters   int          `json:"parameterTensors"`
	Buffers      int          `json:"bufferTensors"`
	Sizes        ir.Sizes     `json:"countedAt"` // the sizes of the counts below
	Programs     []Program    `json:"programs"`
	Arenas       []cost.Arena `json:"arenas"`
}

// Program is one program of a stage in numbers.
type Program struct {
	cost.Program

	// Nodes is the number of kernel launches on a GPU, and of the nodes of a
	// recording, which is refused when it has another number.
	Nodes int `json:"nodes"`
}

// FileSummary identifies the content of a generated file.
type FileSummary struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// ReadManifest reads a manifest file.
func ReadManifest(data []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, err
	}
	if m.Generated != Header {
		return nil, fmt.Errorf("it was not written by reprise")
	}
	return m, nil
}

func manifestFile(p Package, files []File) (File, error) {
	m := Manifest{
		Generated:   Header,
		Tools:       Tools{Plan: ir.FormatVersion, Device: deviceTools},
		Package:     p.Name,
		Definitions: p.Definitions(),
	}
	for _, s := range p.Stages {
		summary, err := summarise(s.Plan, space(p.Name, s))
		if err != nil {
			return File{}, err
		}
		m.Stages = append(m.Stages, summary)
	}
	for _, f := range files {
		m.Files = append(m.Files, FileSummary{Name: f.Name, SHA256: digest([]File{f})})
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(m); err != nil {
		return File{}, err
	}
	return File{Name: ManifestName, Data: out.Bytes()}, nil
}

func summarise(s *ir.Stage, where string) (StageSummary, error) {
	summary := StageSummary{
		Name: s.Name, Digest: s.Digest, Unrecordable: s.Unrecordable,
		Parameters: len(s.Parameters), Buffers: len(s.Buffers), Sizes: pass.Nominal(s),
	}
	for _, p := range s.Parameters {
		elements := 1
		for _, d := range p.Shape {
			elements *= d
		}
		summary.Elements += elements
	}
	programs, err := cost.Programs(s, summary.Sizes)
	if err != nil {
		return summary, err
	}
	named := *s
	named.Name = Stem(s.Name)
	nodes, err := templates.Nodes(&named, where)
	if err != nil {
		return summary, err
	}
	for i, p := range programs {
		summary.Programs = append(summary.Programs, Program{p, nodes[i]})
	}
	summary.Arenas, err = cost.Arenas(s, summary.Sizes)
	return summary, err
}
