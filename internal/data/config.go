package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Config describes a data set: the class names and where the images of each
// split are. It comes from a data.yaml file, whose unknown keys, such as
// download, are left to other tools, or from the annotations of a COCO root.
type Config struct {
	// File is the path of the data.yaml file or of the COCO root.
	File string
	// Root is the directory that split entries are relative to: the path key,
	// itself relative to the file, or the file's directory when that is empty.
	Root string
	// Names holds the class names by dense class index.
	Names []string
	// Keypoints is the kpt_shape key, zero when there is none.
	Keypoints KeypointShape
	// Schema tells what the keypoints are, as far as the data set says.
	Schema KeypointSchema

	splits map[string]splitEntry
	// coco holds the splits of a COCO data set; nil for YOLO.
	coco map[string]cocoSplit
	// dota holds the splits of a DOTA data set; nil for others.
	dota map[string]dotaSplit
	// categories are the COCO category ids by dense class index.
	categories []int64
}

// splitEntry is the value of a train, val or test key.
type splitEntry struct {
	line  int
	paths []string
}

// readYOLOConfig reads a data.yaml file as users have it: names as a list or as a
// mapping with the keys 0..K-1, an optional nc that must equal their count,
// train, val and test as a directory, a .txt list of images or a list of either
// (data and evaluation specification, section 2.3). Faults carry file and line.
func readYOLOConfig(file string) (*Config, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("data.yaml: %w; give the path of a data set's yaml file", err)
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, mostConfigBytes+1))
	if err != nil {
		return nil, fmt.Errorf("data.yaml: %w; give the path of a data set's yaml file", err)
	}
	if len(text) > mostConfigBytes {
		return nil, faultsOrNil([]Fault{{File: file, Problem: fmt.Sprintf("larger than %d bytes", mostConfigBytes), Remedy: "give the path of a data set's yaml file"}})
	}
	return parseConfig(file, text)
}

func parseConfig(file string, text []byte) (*Config, error) {
	entries, fault := topLevel(file, text)
	if fault != nil {
		return nil, faultsOrNil([]Fault{*fault})
	}
	reader := configReader{config: &Config{File: file, splits: map[string]splitEntry{}}}
	reader.root(entries["path"])
	reader.names(entries["names"])
	reader.count(entries["nc"])
	reader.keypoints(entries["kpt_shape"])
	reader.flipOrder(entries["flip_idx"])
	for _, split := range []string{"train", "val", "test"} {
		reader.split(split, entries[split])
	}
	if err := faultsOrNil(reader.faults); err != nil {
		return nil, err
	}
	return reader.config, nil
}

// topLevel returns the values of the file's mapping by key; empty values are
// left out, as if the key were not there.
func topLevel(file string, text []byte) (map[string]ast.Node, *Fault) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if line := tooDeep(string(text)); line > 0 {
		return nil, &Fault{File: file, Line: line, Problem: fmt.Sprintf("nested more than %d deep", deepestConfig), Remedy: "write the keys names, train and val"}
	}
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		fault := &Fault{File: file, Problem: err.Error(), Remedy: "correct the yaml syntax"}
		if located := yaml.Error(nil); errors.As(err, &located) {
			fault.Line, fault.Problem = located.GetToken().Position.Line, located.GetMessage()
		}
		return nil, fault
	}
	entries := map[string]ast.Node{}
	if len(parsed.Docs) != 1 || parsed.Docs[0].Body == nil {
		return nil, &Fault{File: file, Problem: "not one yaml document", Remedy: "write the keys names, train and val"}
	}
	pairs, ok := mappingValues(parsed.Docs[0].Body)
	if !ok {
		return nil, &Fault{File: file, Line: line(parsed.Docs[0].Body), Problem: "not a mapping of keys to values",
			Remedy: "write the keys names, train and val"}
	}
	for _, pair := range pairs {
		if _, null := pair.Value.(*ast.NullNode); !null {
			entries[pair.Key.GetToken().Value] = pair.Value
		}
	}
	return entries, nil
}

// mappingValues returns the pairs of a mapping; the parser has a type of its own
// for a mapping of one pair.
func mappingValues(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch mapping := node.(type) {
	case *ast.MappingNode:
		return mapping.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{mapping}, true
	}
	return nil, false
}

func line(node ast.Node) int { return node.GetToken().Position.Line }

// configReader fills a Config and collects the faults of its keys.
type configReader struct {
	config *Config
	faults []Fault
}

func (r *configReader) fault(node ast.Node, problem, remedy string) {
	fault := Fault{File: r.config.File, Problem: problem, Remedy: remedy}
	if node != nil {
		fault.Line = line(node)
	}
	r.faults = append(r.faults, fault)
}

func (r *configReader) root(node ast.Node) {
	directory := filepath.Dir(r.config.File)
	r.config.Root = directory
	if node == nil {
		return
	}
	path, ok := scalar(node)
	if !ok {
		r.fault(node, "path is not a string", "give the data set's directory or leave path empty")
		return
	}
	r.config.Root = path
	if !filepath.IsAbs(path) {
		r.config.Root = filepath.Join(directory, path)
	}
	if info, err := os.Stat(r.config.Root); err != nil || !info.IsDir() {
		r.fault(node, fmt.Sprintf("path %s is not a directory", r.config.Root),
			"correct it, or leave it empty to mean the directory of this file")
	}
}

func (r *configReader) names(node ast.Node) {
	const remedy = "write names as a list, or as a mapping with the keys 0, 1, 2 and so on"
	if node == nil {
		r.fault(nil, "no class names", remedy)
		return
	}
	if list, ok := node.(*ast.SequenceNode); ok {
		for _, value := range list.Values {
			r.name(value)
		}
	} else if pairs, ok := mappingValues(node); ok {
		r.mappedNames(pairs, remedy)
	} else {
		r.fault(node, "names is neither a list nor a mapping", remedy)
		return
	}
	if len(r.config.Names) == 0 && len(r.faults) == 0 {
		r.fault(node, "names is empty", remedy)
	}
}

func (r *configReader) mappedNames(pairs []*ast.MappingValueNode, remedy string) {
	values := make([]ast.Node, len(pairs))
	for _, pair := range pairs {
		text := pair.Key.GetToken().Value
		key, err := strconv.Atoi(text)
		if err != nil || key < 0 || key >= len(pairs) || values[key] != nil {
			r.fault(pair.Key, fmt.Sprintf("class key %q where %d names need the keys 0 to %d once each",
				text, len(pairs), len(pairs)-1), remedy)
			return
		}
		values[key] = pair.Value
	}
	for _, value := range values {
		r.name(value)
	}
}

func (r *configReader) name(node ast.Node) {
	name, ok := scalar(node)
	if !ok || name == "" || !utf8.ValidString(name) {
		r.fault(node, "a class name is empty or not a string", "give every class a name, in UTF-8")
	}
	r.config.Names = append(r.config.Names, name)
}

func (r *configReader) count(node ast.Node) {
	if node == nil {
		return
	}
	text, _ := scalar(node)
	if count, err := strconv.Atoi(text); err != nil || count != len(r.config.Names) {
		r.fault(node, fmt.Sprintf("nc is %s where names has %d", text, len(r.config.Names)),
			"make nc equal to the number of names or remove it")
	}
}

func (r *configReader) split(name string, node ast.Node) {
	if node == nil {
		return
	}
	entry := splitEntry{line: line(node)}
	values := []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok {
		values = list.Values
	}
	for _, value := range values {
		path, ok := scalar(value)
		if !ok || path == "" {
			r.fault(value, name+" holds something that is not a path", "give a directory, a .txt file or a list of these")
			continue
		}
		entry.paths = append(entry.paths, path)
	}
	r.config.splits[name] = entry
}

// scalar is the text of a scalar node as the author wrote it.
func scalar(node ast.Node) (string, bool) {
	switch value := node.(type) {
	case *ast.StringNode:
		return value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return node.GetToken().Value, true
	}
	return "", false
}
