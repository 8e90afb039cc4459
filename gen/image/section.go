package image

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A generated source consists of sections, each under a line that names it: a
// file of device code with those that it uses, "precision", which names the
// kernels, and "kernels of" a file.
var sectionLine = regexp.MustCompile(`(?m)^// ==== ([\w.]+|kernels of [\w.]+)(?: uses ([\w., ]+))?\n`)

// section is one of them, with its line.
type section struct {
	name string
	uses []string
	text []byte
}

// sections cuts a source. What stands before the first section names the plan,
// which no kernel depends on.
func sections(text []byte) []section {
	var out []section
	at := sectionLine.FindAllSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		s := section{name: string(text[m[2]:m[3]]), text: text[m[0]:end]}
		if m[4] >= 0 {
			s.uses = strings.Split(string(text[m[4]:m[5]]), ", ")
		}
		out = append(out, s)
	}
	return out
}

// precision names the section that every kernel needs.
const precision = "precision"

// commonFor joins the sections that the kernels of a file need, in their order.
func commonFor(all []section, file string) ([]byte, error) {
	wanted, found := map[string]bool{file: true, "types.cuh": true, precision: true}, map[string]bool{}
	for i := len(all) - 1; i >= 0; i-- {
		if found[all[i].name] = wanted[all[i].name]; found[all[i].name] {
			for _, used := range all[i].uses {
				wanted[used] = true
			}
		}
	}
	var out []byte
	for _, s := range all {
		if wanted[s.name] {
			out = append(out, s.text...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !found[name] {
			return nil, fmt.Errorf("there is no section %s, which kernels of %s need; run go generate", name, file)
		}
	}
	return out, nil
}
