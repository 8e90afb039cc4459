package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// maxDimText bounds the text of a Dim that ParseDim accepts, so that a
// damaged plan cannot make it work without end.
const maxDimText = 256

// ParseDim reads what Dim.String wrote.
func ParseDim(text string) (Dim, error) {
	if len(text) == 0 || len(text) > maxDimText {
		return Dim{}, fmt.Errorf("size %.32q: want 1 to %d characters", text, maxDimText)
	}
	var terms []term
	for _, piece := range splitTerms(text) {
		t, err := parseTerm(piece)
		if err != nil {
			return Dim{}, fmt.Errorf("size %q: %w", text, err)
		}
		terms = append(terms, t)
	}
	return normal(terms), nil
}

func splitTerms(text string) []string {
	var pieces []string
	start := 0
	for i := 1; i < len(text); i++ {
		if text[i] == '+' || text[i] == '-' {
			pieces = append(pieces, text[start:i])
			start = i
			if text[i] == '+' {
				start++
			}
		}
	}
	return append(pieces, text[start:])
}

func parseTerm(piece string) (term, error) {
	t := term{num: 1, den: 1}
	if rest, found := strings.CutPrefix(piece, "-"); found {
		t.num, piece = -1, rest
	}
	product, den, divided := strings.Cut(piece, "/")
	if divided {
		v, err := parseFactor(den)
		if err != nil {
			return term{}, err
		}
		if v == 0 {
			return term{}, fmt.Errorf("division by zero")
		}
		t.den = v
	}
	for _, f := range strings.Split(product, "*") {
		switch f {
		case "N":
			t.n++
		case "H":
			t.h++
		case "W":
			t.w++
		default:
			v, err := parseFactor(f)
			if err != nil {
				return term{}, err
			}
			t.num *= v
		}
	}
	return t.reduced(), nil
}

// parseFactor reads a whole number from 0 to 2^31.
func parseFactor(text string) (int64, error) {
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%q is neither N, H, W nor a whole number below 2^31", text)
	}
	return v, nil
}

// MarshalText writes d as text, so that JSON holds it as a string.
func (d Dim) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Dim) UnmarshalText(text []byte) error {
	parsed, err := ParseDim(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}
