package scaffold

import (
	"bytes"
	"context"
	"embed"
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
		ScaleName string
	}{r, scaleNames[r.Scale]}
	for name, from := range map[string]string{
		"definition/definition.go": "definition.go.tmpl",
		"main.go":                  "main.go.tmpl",
	} {
		var out bytes.Buffer
		if err := templates.ExecuteTemplate(&out, from, data); err != nil {
			return nil, err
		}
		files[name] = out.Bytes()
	}
	own, err := findSource(ctx)
	if err != nil {
		return nil, err
	}
	if files["go.mod"], err = goMod(r, own); err != nil {
		return nil, err
	}
	files["go.sum"] = own.goSum
	return files, nil
}

// goMod requires what this module requires, at the same versions, so that the
// go.sum of this module is enough and nothing has to be looked up.
func goMod(r Request, own source) ([]byte, error) {
	base, err := modfile.Parse("go.mod", own.goMod, nil)
	if err != nil {
		return nil, err
	}
	f := new(modfile.File)
	if err := f.AddModuleStmt(r.Module); err != nil {
		return nil, err
	}
	if err := f.AddGoStmt(base.Go.Version); err != nil {
		return nil, err
	}
	if err := f.AddTool(modulePath + "/cmd/reprise"); err != nil {
		return nil, err
	}
	requires := []*modfile.Require{{Mod: module.Version{Path: modulePath, Version: own.version}}}
	for _, q := range base.Require {
		requires = append(requires, &modfile.Require{Mod: q.Mod, Indirect: true})
	}
	f.SetRequireSeparateIndirect(requires)
	if own.checkout != "" {
		if err := f.AddReplace(modulePath, "", replacement(r.Dir, own.checkout), ""); err != nil {
			return nil, err
		}
	}
	f.Cleanup()
	return f.Format()
}
