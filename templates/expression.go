package templates

import (
	"fmt"
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Expr is a whole number that depends on the sizes of a call: a grid, a span or
// an amount of memory. It can be evaluated and printed as C.
type Expr struct {
	op   operator
	dim  ir.Dim // of a leaf
	args []Expr
}

type operator byte

const (
	leaf operator = iota
	product
	sum
	quotient // rounded up
	least
	largest
)

// Size is an Expr with the value of a tensor size.
func Size(d ir.Dim) Expr { return Expr{dim: d} }

// Number is a fixed Expr.
func Number(v int) Expr { return Size(ir.Const(v)) }

// Times is the product of its arguments.
func Times(args ...Expr) Expr { return Expr{op: product, args: args} }

// Sum is the sum of its arguments.
func Sum(args ...Expr) Expr { return Expr{op: sum, args: args} }

// Ceiling is a / b rounded up.
func Ceiling(a, b Expr) Expr { return Expr{op: quotient, args: []Expr{a, b}} }

// Smaller is the smaller of two.
func Smaller(a, b Expr) Expr { return Expr{op: least, args: []Expr{a, b}} }

// Larger is the larger of two.
func Larger(a, b Expr) Expr { return Expr{op: largest, args: []Expr{a, b}} }

// Eval is the value at the given sizes.
func (e Expr) Eval(z ir.Sizes) (int64, error) {
	if e.op == leaf {
		v, err := e.dim.Eval(z)
		return int64(v), err
	}
	var values []int64
	for _, a := range e.args {
		v, err := a.Eval(z)
		if err != nil {
			return 0, err
		}
		values = append(values, v)
	}
	result := values[0]
	for _, v := range values[1:] {
		switch e.op {
		case product:
			result *= v
		case sum:
			result += v
		case quotient:
			if v == 0 {
				return 0, fmt.Errorf("launch expression %s divides by zero at %s", e.C(), z)
			}
			result = (result + v - 1) / v
		case least:
			result = min(result, v)
		case largest:
			result = max(result, v)
		}
	}
	return result, nil
}

// C prints the expression over the int64_t variables n, h and w.
func (e Expr) C() string {
	var args []string
	for _, a := range e.args {
		args = append(args, a.C())
	}
	switch e.op {
	case product:
		for i, a := range e.args {
			if a.op == leaf && strings.ContainsAny(args[i], "+-/") {
				args[i] = "(" + args[i] + ")"
			}
		}
		return strings.Join(args, " * ")
	case sum:
		return "(" + strings.Join(args, " + ") + ")"
	case quotient:
		return "ceiling(" + strings.Join(args, ", ") + ")"
	case least:
		return "smaller(" + strings.Join(args, ", ") + ")"
	case largest:
		return "larger(" + strings.Join(args, ", ") + ")"
	}
	return dimText(e.dim)
}

// dimText prints a size as C over n, h and w. Products come before the one
// division of each term, so every division is exact.
func dimText(d ir.Dim) string { return asC.Replace(spaceMinus(d.String())) }

// asC spells the text of a size as C.
var asC = strings.NewReplacer("*", " * ", "/", " / ", "+", " + ", "N", "n", "H", "h", "W", "w")

// spaceMinus sets spaces around the minus signs between terms.
func spaceMinus(text string) string {
	if text == "" {
		return text
	}
	return text[:1] + strings.ReplaceAll(text[1:], "-", " - ")
}
