package templates

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"sort"
	"strings"
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
	}{p, device})
}

// deviceText joins the files that hold the given kernels with all that they
// include, each file once and after what it needs.
func deviceText(kernels []Kernel) (string, error) {
	wanted := map[string]bool{}
	for _, k := range kernels {
		wanted[k.File+".cuh"] = true
	}
	names := make([]string, 0, len(wanted))
	for n := range wanted {
		names = append(names, n)
	}
	sort.Strings(names)
	var out strings.Builder
	done := map[string]bool{}
	for _, n := range append([]string{"types.cuh"}, names...) {
		if err := include(&out, done, n); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

// include writes a file after the files that it includes.
func include(out *strings.Builder, done map[string]bool, name string) error {
	if done[name] {
		return nil
	}
	done[name] = true
	text, err := files.ReadFile("cuda/" + name)
	if err != nil {
		return fmt.Errorf("device code %s: %w", name, err)
	}
	var body []string
	for _, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if used, found := strings.CutPrefix(line, `#include "`); found {
			if err := include(out, done, strings.TrimSuffix(used, `"`)); err != nil {
				return err
			}
			continue
		}
		if line != "#pragma once" {
			body = append(body, line)
		}
	}
	fmt.Fprintf(out, "%s\n\n", strings.Join(body, "\n"))
	return nil
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
