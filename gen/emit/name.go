package emit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Names that authors choose become Go identifiers, C symbols and file names by
// one rule, under which different names never meet:
//
//   - a to z and 0 to 9 stay as they are;
//   - '_' and a letter become that letter in upper case;
//   - everything else (upper case, '-', '.', any other '_') becomes Z and the
//     two hex digits of each byte; so does the '_' of "_z" and a first z where
//     a hex digit follows, which would read like this.
//
// Every upper-case letter of the result thus tells what stood there, and the
// name can be read back: o2m_cls is o2mCls, head_2 is headZ5f2 and head-2 is
// headZ2d2.
//
// A Go identifier raises its first letter; anything else in the first place is
// replaced like above. So no keyword and no predeclared name results:
// type is Type, 2stage is Z32stage, C is Z43.
//
// A file name is the Go identifier in lower case with '_' before each letter
// that was in upper case; the Z of a replaced byte is left out unless it comes
// first. So names differ on file systems that ignore case as well: o2m_cls is
// o2m_cls again, head-2 is head_2d2, C is z43. What is appended, such as
// _gen.go, keeps the go command from reading a system or _test into a name.
//
// C symbols begin with reprise_, the package, a number (see space) and the name
// of the stage's files.
//
// State entries, whose names are paths such as model.0.conv.weight, become Go
// constants with '_' in place of '.', which the rule uses for nothing else.

// word applies the rule to a name.
func word(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case isPlain(c):
			out.WriteByte(c)
		case c == '_' && i > 0 && i+1 < len(name) && isLetter(name[i+1]) && !ambiguous(name[i+1:]):
			i++
			out.WriteByte(name[i] - 'a' + 'A')
		default:
			out.WriteString(replaced(c))
		}
	}
	return out.String()
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

func isPlain(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// ambiguous tells whether a z would read like a replaced byte once raised.
func ambiguous(name string) bool { return len(name) > 1 && name[0] == 'z' && isHex(name[1]) }

func replaced(c byte) string { return fmt.Sprintf("Z%02x", c) }

// exported gives the Go identifier of a port or a stage.
func exported(name string) string {
	w := word(name)
	switch c := name[0]; {
	case isLetter(c) && !ambiguous(name):
		return string(c-'a'+'A') + w[1:]
	case isPlain(c):
		return replaced(c) + w[1:]
	}
	return w
}

// unnamed is the stage whose declarations have no prefix, so that the package
// of a task reads obb.New and obb.Inputs. It depends on the stage's own name
// alone: another stage never renames what exists.
const unnamed = "network"

// Suffixes of what is declared for a stage. None of them ends with another one,
// so that no two stages can declare the same identifier.
const (
	stageSuffix     = "Stage"
	inputSuffix     = "Inputs"
	outputSuffix    = "Outputs"
	cotangentSuffix = "Cotangents"
	gradientSuffix  = "Gradients"
	parameterSuffix = "Parameter"
	bufferSuffix    = "Buffer"
	memorySuffix    = "Memory"
	digestSuffix    = "Digest"
	planSuffix      = "Plan"
	optionSuffix    = "Options"
	kernelSuffix    = "Kernels"
)

// declared gives the identifier that a stage declares under a suffix.
func declared(stage, suffix string) string { return stagePrefix(stage) + suffix }

// constructor gives the name of the function that adds a stage to a fit.
func constructor(stage string) string { return "New" + stagePrefix(stage) }

// stagePrefix is the identifier of a stage; names whose first word is new are
// kept apart from constructors.
func stagePrefix(stage string) string {
	if stage == unnamed {
		return ""
	}
	id := exported(stage)
	if rest, found := strings.CutPrefix(stage, "new"); found && (rest == "" || !isPlain(rest[0])) {
		return replaced(stage[0]) + id[1:]
	}
	return id
}

// entry gives the constant of a state entry.
func entry(stage, suffix, name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = word(p)
	}
	return declared(stage, suffix) + "_" + strings.Join(parts, "_")
}

// embedded gives the variable that holds the plan file of a stage.
func embedded(stage string) string { return "plan" + exported(stage) }

// Stem starts the names of a stage's files.
func Stem(stage string) string {
	id := exported(stage)
	out := []byte{id[0] - 'A' + 'a'}
	for i := 1; i < len(id); i++ {
		switch c := id[i]; {
		case c == 'Z' && i+1 < len(id) && isHex(id[i+1]):
			out = append(out, '_')
		case 'A' <= c && c <= 'Z':
			out = append(out, '_', c-'A'+'a')
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// space names the part of the C symbols of a stage that says where it belongs:
// the package, and a number that no other package or stage has. The number
// comes from the names alone, not from what they define, so that it stays.
func space(packageName string, s Stage) string {
	sum := sha256.Sum256([]byte(s.Definition + "\n" + s.Plan.Name))
	return word(packageName) + "_" + hex.EncodeToString(sum[:4])
}
