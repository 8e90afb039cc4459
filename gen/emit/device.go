package emit

import (
	"bytes"
	"fmt"
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
		{Name: named.Name + "_gen.cu", Data: kernels},
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

// cgoFile makes the wrappers part of a build with the tag, which needs the
// headers and the library of the CUDA driver.
func cgoFile(p Package) File {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s\n\n%s\npackage %s\n\n// #cgo LDFLAGS: -lcuda\n", Header, constraint, p.Name)
	for _, s := range p.Stages {
		fmt.Fprintf(&b, "// #include \"%s_gen.h\"\n", Stem(s.Plan.Name))
	}
	b.WriteString("import \"C\"\n")
	return File{Name: "reprise_cuda_gen.go", Data: b.Bytes()}
}
