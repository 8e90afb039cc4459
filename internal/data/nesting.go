package data

import (
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// Limits of a data.yaml file. The parser's time grows with the square of the depth
// and its stack with the depth, so that a hundred kilobytes of brackets would keep
// it busy for minutes.
const (
	mostConfigBytes = 1 << 20
	deepestConfig   = 100
)

// tooDeep is the line where a YAML text nests deeper than the limit, or 0. It
// reads the tokens only and counts generously: brackets that are open, and all
// that begins a value since the line or the entry of a list began. Depth by
// indentation needs a text of the square of its size, and needs no limit.
func tooDeep(text string) int {
	open, begun, line := 0, 0, 0
	for _, t := range lexer.Tokenize(text) {
		if t.Position.Line != line {
			line, begun = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		case token.CollectEntryType:
			begun = 0
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType, token.TagType, token.AnchorType, token.AliasType:
			begun++
		}
		if open+begun > deepestConfig {
			return line
		}
	}
	return 0
}
