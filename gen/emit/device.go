package emit

import (
	"bytes"
	"slices"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/templates"
)

// constraint keeps the wrapper out of builds without the tag: a C file makes
// the go command demand cgo, and a plain build has none.
const constraint = "//go:build cuda\n"

// deviceFiles prints the CUDA kernels of a stage and the C that launches them.
// They lie beside the Go files, where vendoring takes them along.
func deviceFiles(p Package, s *ir.Stage) ([]File, error) {
	named := *s
	named.Name = Stem(s.Name)
	kernels, err := templates.Kernels(&named, space(p, s.Name))
	if err != nil {
		return nil, err
	}
	source, header, err := templates.Wrapper(&named, space(p, s.Name))
	if err != nil {
		return nil, err
	}
	return []File{
		{Name: named.Name + "_gen.cu", Data: kernels},
		{Name: named.Name + "_gen.c", Data: constrained(source)},
		{Name: named.Name + "_gen.h", Data: header},
	}, nil
}

// constrained puts the build constraint below the header, which must be first.
func constrained(source []byte) []byte {
	first, rest, _ := bytes.Cut(source, []byte("\n"))
	return slices.Concat(first, []byte("\n\n"+constraint), rest)
}
