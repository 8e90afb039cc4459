package templates

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"text/template"

	"github.com/reprise-ml/reprise/gen/ir"
)

//go:embed cuda/*.cuh cuda/*.h cuda/*.tmpl wrap/*.tmpl wrap/*.h
var files embed.FS

// Kernels prints the CUDA text of a stage: the device code that it needs and an
// instantiation for each distinct kernel. stage is a finished plan, pkg the name
// of the generated package.
//
// The text is compiled once for each precision, which is a macro
// (REPRISE_FP32, REPRISE_TF32, REPRISE_FP16 or REPRISE_BF16), and, for sizes
// beyond 2^31 elements, with REPRISE_WIDE. Symbols end in the precision and
// "_wide", so all variants fit one image.
func Kernels(stage *ir.Stage, pkg string) ([]byte, error) {
	p, err := plan(stage, pkg)
	if err != nil {
		return nil, err
	}
	device, err := deviceText(p.Kernels)
	if err != nil {
		return nil, err
	}
	return execute("cuda/kernels.cu.tmpl", struct {
		*planned
		Device string
		Groups [][]Kernel // by the file that they are of
	}{p, device, groups(p.Kernels)})
}

// groups parts kernels, which are sorted, by the file that they are of.
func groups(kernels []Kernel) [][]Kernel {
	var out [][]Kernel
	for i, k := range kernels {
		if i == 0 || k.File != kernels[i-1].File {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], k)
	}
	return out
}

// execute runs a template over the plan.
func execute(name string, data any) ([]byte, error) {
	t, err := template.New(path.Base(name)).Funcs(template.FuncMap{"number": func(i int) int { return i + 1 }}).ParseFS(files, name)
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n'), nil
}

// IndexBits is the width of the index arithmetic that a stage needs at the
// given sizes: 32 while the last index of every storage is at most
// 2,147,483,647, else 64.
func IndexBits(stage *ir.Stage, z ir.Sizes) (int, error) {
	for _, s := range stage.Storages {
		n, err := s.Size.Eval(z)
		if err != nil {
			return 0, fmt.Errorf("storage %s: %w", s.Name, err)
		}
		if n-1 > 1<<31-1 {
			return 64, nil
		}
	}
	return 32, nil
}
