package commit

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// Diff prints the changes as a unified diff with paths below the folder.
func (c Changes) Diff() string {
	var out strings.Builder
	for _, f := range c.Files {
		name := path.Join(filepath.ToSlash(c.Dir), f.Name)
		from, to := name, name
		if f.Old == nil {
			from = "/dev/null"
		}
		if f.New == nil {
			to = "/dev/null"
		}
		out.WriteString(udiff.Unified(from, to, string(lineFeeds(f.Old)), string(f.New)))
	}
	return out.String()
}

// Names lists the files that differ, each with what is wrong with it.
func (c Changes) Names() []string {
	var names []string
	for _, f := range c.Files {
		state := "is stale"
		switch {
		case f.Old == nil:
			state = "is missing"
		case f.New == nil:
			state = "is no longer generated"
		}
		names = append(names, fmt.Sprintf("%s %s", filepath.Join(c.Dir, f.Name), state))
	}
	return names
}
