package config

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maximumFile bounds a settings file, and with it the depth that the parser can
// be led into: its time grows with the square of the depth.
const maximumFile = 16 << 10

// readFile reads the values of a YAML file in their order. Sections nest or are
// written as dotted keys; both name the same setting.
func readFile(path string) ([]given, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the settings: %w", err)
	}
	defer func() { _ = file.Close() }() // opened for reading only
	data, err := io.ReadAll(io.LimitReader(file, maximumFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: cannot read the settings: %w", path, err)
	}
	if len(data) > maximumFile {
		return nil, fmt.Errorf("%s: larger than %d bytes; name a settings file", path, maximumFile)
	}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntaxError(path, err)
	}
	reader := fileReader{path: path, lines: map[string]int{}}
	for i, document := range tree.Docs {
		if document.Body == nil {
			continue
		}
		if i > 0 {
			return nil, reader.errorf(document.Body, "a second document begins; write one document")
		}
		if err := reader.section("", document.Body); err != nil {
			return nil, err
		}
	}
	return reader.values, nil
}

// syntaxError puts the line of a parser error in front.
func syntaxError(path string, err error) error {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil {
		return fmt.Errorf("%s:%d: not YAML: %s", path, syntax.Token.Position.Line, syntax.Message)
	}
	return fmt.Errorf("%s: not YAML: %w", path, err)
}

// fileReader flattens the tree of a file.
type fileReader struct {
	path   string
	values []given
	lines  map[string]int // line of every key so far
}

func (r *fileReader) errorf(at ast.Node, format string, arguments ...any) error {
	return fmt.Errorf("%s:%d: %s", r.path, line(at), fmt.Sprintf(format, arguments...))
}

func line(node ast.Node) int { return node.GetToken().Position.Line }

// section reads the keys below prefix, which is empty for the file itself and
// ends in a dot otherwise.
func (r *fileReader) section(prefix string, node ast.Node) error {
	var pairs []*ast.MappingValueNode
	switch node := node.(type) {
	case *ast.MappingNode:
		pairs = node.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{node}
	default:
		return r.errorf(node, "expected keys with values, such as optim.lr: 0.01")
	}
	for _, pair := range pairs {
		key, ok := pair.Key.(*ast.StringNode)
		if !ok {
			return r.errorf(pair.Key, "%q is not a key; write a plain name", pair.Key.GetToken().Value)
		}
		if err := r.pair(prefix+key.Value, pair); err != nil {
			return err
		}
	}
	return nil
}

// pair reads one setting, or one section of them.
func (r *fileReader) pair(name string, pair *ast.MappingValueNode) error {
	if isSection(name) {
		if pair.Value.Type() == ast.NullType {
			return nil // a section whose keys are all commented out
		}
		return r.section(name+".", pair.Value)
	}
	key := find(name)
	if key == nil {
		return r.errorf(pair.Key, "unknown key %s; did you mean %s?", name, nearest(name))
	}
	if first, ok := r.lines[name]; ok {
		return r.errorf(pair.Key, "%s is set a second time, after line %d; remove one", name, first)
	}
	r.lines[name] = line(pair.Key)
	text, ok := scalar(key, pair.Value)
	if !ok {
		return r.errorf(pair.Key, "%s has a value of another kind; it must be %s", name, key.allowed.text)
	}
	r.values = append(r.values, given{key, text, fmt.Sprintf("%s:%d", r.path, line(pair.Key))})
	return nil
}

// scalar is the text of a plain value of the key's kind.
func scalar(k *key, node ast.Node) (text string, ok bool) {
	switch node := node.(type) {
	case *ast.StringNode:
		// The parser takes a number without a point, such as 1e-3, for text.
		plain := node.Token.Type == token.StringType
		_, ok = k.fallback.(string)
		return node.Value, ok || isExtent(k) || (plain && isNumber(k))
	case *ast.BoolNode:
		_, ok = k.fallback.(bool)
		ok = ok || isExtent(k)
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		ok = isNumber(k)
	}
	return node.GetToken().Value, ok
}

func isExtent(k *key) bool {
	_, is := k.fallback.(extent)
	return is
}

func isNumber(k *key) bool {
	switch k.fallback.(type) {
	case int, uint64, float64:
		return true
	}
	return false
}
