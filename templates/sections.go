package templates

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// section is the text of one file of device code.
type section struct {
	name string
	uses []string // files that it includes
	text string   // without them
}

// sections gives all device code, every file after those that it uses. The order
// is the same for every stage, so that a kernel of another kind adds a section to
// a generated file and moves none.
func sections() ([]section, error) {
	paths, err := fs.Glob(files, "cuda/*.*h") // sorted
	if err != nil {
		return nil, err
	}
	var out []section
	done := map[string]bool{}
	var add func(name string) error
	add = func(name string) error {
		if done[name] {
			return nil
		}
		done[name] = true
		s, err := readSection(name)
		if err != nil {
			return err
		}
		for _, used := range s.uses {
			if err := add(used); err != nil {
				return err
			}
		}
		out = append(out, s)
		return nil
	}
	for _, p := range paths {
		if err := add(path.Base(p)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readSection(name string) (section, error) {
	text, err := files.ReadFile("cuda/" + name)
	if err != nil {
		return section{}, fmt.Errorf("device code %s: %w", name, err)
	}
	s := section{name: name}
	var body []string
	for _, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if used, found := strings.CutPrefix(line, `#include "`); found {
			s.uses = append(s.uses, strings.TrimSuffix(used, `"`))
		} else if line != "#pragma once" {
			body = append(body, line)
		}
	}
	s.text = strings.Join(body, "\n")
	return s, nil
}

// deviceText joins the sections that kernels need, each under its name and what
// it uses, by which a compiler of kernel images picks those of a few kernels.
func deviceText(kernels []Kernel) (string, error) {
	all, err := sections()
	if err != nil {
		return "", err
	}
	wanted := map[string]bool{"types.cuh": true}
	for _, k := range kernels {
		wanted[k.File+".cuh"] = true
	}
	for i := len(all) - 1; i >= 0; i-- {
		if wanted[all[i].name] {
			for _, used := range all[i].uses {
				wanted[used] = true
			}
		}
	}
	var out strings.Builder
	for _, s := range all {
		if !wanted[s.name] {
			continue
		}
		delete(wanted, s.name)
		fmt.Fprintf(&out, "// ==== %s", s.name)
		if len(s.uses) > 0 {
			fmt.Fprintf(&out, " uses %s", strings.Join(s.uses, ", "))
		}
		fmt.Fprintf(&out, "\n%s\n\n", s.text)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		return "", fmt.Errorf("device code %s: there is no such file", name)
	}
	return out.String(), nil
}
