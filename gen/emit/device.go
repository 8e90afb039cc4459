package emit

import (
	"bytes"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-ml/reprise/templates"
)

// constraint keeps a file out of builds without the tag: a C file makes the go
// command demand cgo, and a plain build has none.
const constraint = "//go:build cuda\n"

// deviceFiles prints the CUDA kernels of a stage and the C that launches them.
// They lie beside the Go files, where vendoring takes them along.
func deviceFiles(p Package, s Stage) ([]File, error) {
	named := *s.Plan
	named.Name = Stem(s.Plan.Name)
	where := space(p.Name, s)
	var kernels, source, header []byte
	var both errgroup.Group
	both.Go(func() (err error) {
		kernels, err = templates.Kernels(&named, where)
		return err
	})
	both.Go(func() (err error) {
		source, header, err = templates.Wrapper(&named, where)
		return err
	})
	if err := both.Wait(); err != nil {
		return nil, err
	}
	return []File{
		{Name: kernelName(s.Plan.Name), Data: kernels},
		{Name: named.Name + "_gen.c", Data: constrained(source)},
		{Name: named.Name + "_gen.h", Data: header},
	}, nil
}

// constrained puts the build constraint below the header, which must be first.
// clang-format would put a space into it, after which it is none.
func constrained(source []byte) []byte {
	first, rest, _ := bytes.Cut(source, []byte("\n"))
	return slices.Concat(first, []byte("\n\n// clang-format off\n"+constraint+"// clang-format on\n"), rest)
}
