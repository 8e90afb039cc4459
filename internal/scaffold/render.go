package scaffold

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"go/format"
	"path/filepath"
	"strings"
	"text/template"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

//go:embed definition.go.tmpl main.go.tmpl
var sources embed.FS

var templates = template.Must(template.ParseFS(sources, "*.tmpl"))

// scaleNames are the Go names of the scales in package yolo26.
var scaleNames = map[string]string{"n": "Nano", "s": "Small", "m": "Medium", "l": "Large", "x": "Extra", "t": "Test"}

// render gives the files of the module by their paths.
func render(ctx context.Context, r Request) (map[string][]byte, error) {
	files := map[string][]byte{}
	data := struct {
		Request
		Name        string
		Definitions []definition
	}{Request: r, Name: filepath.Base(r.Dir)}
	for _, d := range definitions[r.Task] {
		d.Call = strings.ReplaceAll(d.Call, "SCALE", "yolo26."+scaleNames[r.Scale])
		data.Definitions = append(data.Definitions, d)
	}
	for name, from := range map[string]string{
		"definition/definition.go": "definition.go.tmpl",
		"main.go":                  "main.go.tmpl",
	} {
		var out bytes.Buffer
		if err := templates.ExecuteTemplate(&out, from, data); err != nil {
			return nil, err
		}
		source, err := format.Source(out.Bytes())
		if err != nil {
			return nil, err
		}
		files[name] = source
	}
	var err error
	files["go.mod"], files["go.sum"], err = Module(ctx, r.Module, r.Dir)
	return files, err
}

// Module gives go.mod and go.sum of a module at dir that uses the checkout or
// release that this code was built from. It requires what that requires, at the
// same versions, so that its go.sum is enough and nothing has to be looked up.
func Module(ctx context.Context, modulePath, dir string) (goMod, goSum []byte, err error) {
	own, err := findSource(ctx)
	if err != nil {
		return nil, nil, err
	}
	base, err := modfile.Parse("go.mod", own.goMod, nil)
	if err != nil {
		return nil, nil, err
	}
	f := new(modfile.File)
	requires := []*modfile.Require{{Mod: module.Version{Path: ownPath, Version: own.version}}}
	for _, q := range base.Require {
		requires = append(requires, &modfile.Require{Mod: q.Mod, Indirect: true})
	}
	err = errors.Join(f.AddModuleStmt(modulePath), f.AddGoStmt(base.Go.Version), f.AddTool(ownPath+"/cmd/reprise"))
	if own.checkout != "" {
		err = errors.Join(err, f.AddReplace(ownPath, "", replacement(dir, own.checkout), ""))
	}
	if err != nil {
		return nil, nil, err
	}
	f.SetRequireSeparateIndirect(requires)
	f.Cleanup()
	goMod, err = f.Format()
	return goMod, own.goSum, err
}
