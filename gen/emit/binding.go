package emit

import (
	"bytes"
	"fmt"

	"github.com/reprise-ml/reprise/gen/image"
	"github.com/reprise-ml/reprise/templates"
)

// bindingName is the file that ties a package to the CUDA back end.
const bindingName = "reprise_cuda_gen.go"

// bindingFile makes the wrappers part of a build with the tag, which needs the
// headers and the library of the CUDA driver, and makes every stage known to the
// back end. A kernel image is embedded when it lies beside its source: the
// pattern matches the source too, so that there is always something to embed.
//
// The C is one function for each operation, called once a step: optimising it
// further than -O1 only makes the build slow.
func bindingFile(p Package) File {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s\n\n%s\npackage %s\n\n", Header, constraint, p.Name)
	b.WriteString("import (\n\t\"embed\"\n\t\"unsafe\"\n\n\t\"github.com/reprise-ml/reprise/runtime/cuda\"\n)\n\n")
	b.WriteString("// #cgo CFLAGS: -O1\n// #cgo LDFLAGS: -lcuda\n")
	for _, s := range p.Stages {
		fmt.Fprintf(&b, "// #include \"%s_gen.h\"\n", Stem(s.Plan.Name))
	}
	b.WriteString("import \"C\"\n\n")
	for _, s := range p.Stages {
		fmt.Fprintf(&b, "//go:embed %s*\n", kernelName(s.Plan.Name))
	}
	b.WriteString("var kernelFiles embed.FS\n\nfunc init() {\n")
	for _, s := range p.Stages {
		name := s.Plan.Name
		fmt.Fprintf(&b, "\tcuda.Register(cuda.Generated{\n")
		fmt.Fprintf(&b, "\t\tPackage: %q,\n\t\tStage:   %q,\n", p.Name, name)
		fmt.Fprintf(&b, "\t\tPlan:    %s,\n\t\tKernels: %s,\n", declared(name, digestSuffix), declared(name, kernelSuffix))
		fmt.Fprintf(&b, "\t\tFiles:   kernelFiles,\n\t\tImage:   %q,\n", kernelName(name)+image.Suffix)
		fmt.Fprintf(&b, "\t\tWrapper: unsafe.Pointer(&C.%s),\n\t})\n", templates.Symbol(Stem(name), space(p.Name, s)))
	}
	b.WriteString("}\n")
	return File{Name: bindingName, Data: b.Bytes()}
}

// kernelName is the file with the kernels of a stage.
func kernelName(stage string) string { return Stem(stage) + "_gen.cu" }
