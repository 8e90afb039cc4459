package ir

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// Sizes fixes the symbolic sizes of a stage for one call: images in the batch
// and the height and width of the network input in pixels.
type Sizes struct {
	Batch  int `json:"batch"`
	Height int `json:"height"`
	Width  int `json:"width"`
}

// String prints sizes as batch x height x width.
func (s Sizes) String() string { return fmt.Sprintf("%dx%dx%d", s.Batch, s.Height, s.Width) }

// Multiple is what a stage demands of its sizes: heights and widths are
// multiples of these numbers, which makes every division in a Dim exact.
type Multiple struct {
	Height int `json:"height"`
	Width  int `json:"width"`
}

// Dim is one size of a tensor: a polynomial in N (batch), H (height) and W
// (width) with rational coefficients, for example 3, N, H/8 or 21*H*W/1024.
// The zero Dim is the number 0. Dims are values: no method changes its receiver.
type Dim struct {
	terms []term // sorted by powers, no zero coefficients, reduced fractions
}

type term struct {
	num, den int64
	n, h, w  int8
}

// Symbols of a Dim.
var (
	N = Dim{terms: []term{{num: 1, den: 1, n: 1}}}
	H = Dim{terms: []term{{num: 1, den: 1, h: 1}}}
	W = Dim{terms: []term{{num: 1, den: 1, w: 1}}}
)

// Const is the Dim of a fixed number.
func Const(v int) Dim {
	return normal([]term{{num: int64(v), den: 1}})
}

func normal(terms []term) Dim {
	sort.SliceStable(terms, func(i, j int) bool { return terms[i].before(terms[j]) })
	out := terms[:0:0]
	for _, t := range terms {
		if last := len(out) - 1; last >= 0 && out[last].like(t) {
			out[last].num, out[last].den = out[last].num*t.den+t.num*out[last].den, out[last].den*t.den
			out[last] = out[last].reduced()
			continue
		}
		out = append(out, t.reduced())
	}
	kept := out[:0]
	for _, t := range out {
		if t.num != 0 {
			kept = append(kept, t)
		}
	}
	if len(kept) == 0 {
		return Dim{}
	}
	return Dim{terms: kept}
}

func (t term) like(o term) bool { return t.n == o.n && t.h == o.h && t.w == o.w }

func (t term) before(o term) bool {
	if t.n != o.n {
		return t.n > o.n
	}
	if t.h != o.h {
		return t.h > o.h
	}
	return t.w > o.w
}

func (t term) reduced() term {
	a, b := t.num, t.den
	if a < 0 {
		a = -a
	}
	for b != 0 {
		a, b = b, a%b
	}
	if a > 1 {
		t.num, t.den = t.num/a, t.den/a
	}
	return t
}

// Add is d + o.
func (d Dim) Add(o Dim) Dim {
	return normal(append(append([]term(nil), d.terms...), o.terms...))
}

// Sub is d - o.
func (d Dim) Sub(o Dim) Dim { return d.Add(o.Mul(Const(-1))) }

// Mul is d * o.
func (d Dim) Mul(o Dim) Dim {
	var out []term
	for _, a := range d.terms {
		for _, b := range o.terms {
			out = append(out, term{num: a.num * b.num, den: a.den * b.den, n: a.n + b.n, h: a.h + b.h, w: a.w + b.w})
		}
	}
	return normal(out)
}

// Times is d * k.
func (d Dim) Times(k int) Dim { return d.Mul(Const(k)) }

// Divide is d / k when the quotient is a whole number for every size that the
// multiples allow; ok is false otherwise.
func (d Dim) Divide(k int, m Multiple) (quotient Dim, ok bool) {
	if k <= 0 {
		return Dim{}, false
	}
	out := append([]term(nil), d.terms...)
	for i := range out {
		out[i].den *= int64(k)
		out[i] = out[i].reduced()
		if !out[i].whole(m) {
			return Dim{}, false
		}
	}
	return normal(out), true
}

// whole tells whether the term is a whole number for all allowed sizes.
func (t term) whole(m Multiple) bool {
	factor := int64(1)
	for range t.h {
		factor *= int64(max(m.Height, 1))
	}
	for range t.w {
		factor *= int64(max(m.Width, 1))
	}
	return (t.num*factor)%t.den == 0
}

// Constant gives the number that d is, if it depends on no symbol.
func (d Dim) Constant() (value int, ok bool) {
	if len(d.terms) == 0 {
		return 0, true
	}
	t := d.terms[0]
	if len(d.terms) != 1 || t.n != 0 || t.h != 0 || t.w != 0 || t.den != 1 {
		return 0, false
	}
	return int(t.num), true
}

// Equal tells whether two Dims are the same polynomial.
func (d Dim) Equal(o Dim) bool {
	if len(d.terms) != len(o.terms) {
		return false
	}
	for i, t := range d.terms {
		if t != o.terms[i] {
			return false
		}
	}
	return true
}

// Eval is the value of d at the given sizes. It fails when the value is not a
// whole number, is negative, or does not fit an int.
func (d Dim) Eval(s Sizes) (int, error) {
	total := 0.0
	exact := int64(0)
	for _, t := range d.terms {
		num := t.num
		approx := float64(t.num)
		for range t.n {
			num, approx = num*int64(s.Batch), approx*float64(s.Batch)
		}
		for range t.h {
			num, approx = num*int64(s.Height), approx*float64(s.Height)
		}
		for range t.w {
			num, approx = num*int64(s.Width), approx*float64(s.Width)
		}
		if math.Abs(approx) > math.MaxInt64/4 {
			return 0, fmt.Errorf("size %s does not fit at %s", d, s)
		}
		if num%t.den != 0 {
			return 0, fmt.Errorf("size %s is not a whole number at %s", d, s)
		}
		exact += num / t.den
		total += approx / float64(t.den)
	}
	if exact < 0 || math.Abs(total) > math.MaxInt64/4 {
		return 0, fmt.Errorf("size %s is out of range at %s", d, s)
	}
	return int(exact), nil
}

// String prints d so that ParseDim reads it back.
func (d Dim) String() string {
	if len(d.terms) == 0 {
		return "0"
	}
	var b strings.Builder
	for i, t := range d.terms {
		if i > 0 && t.num > 0 {
			b.WriteByte('+')
		}
		b.WriteString(t.text())
	}
	return b.String()
}

func (t term) text() string {
	var factors []string
	for _, f := range []struct {
		letter string
		power  int8
	}{{"N", t.n}, {"H", t.h}, {"W", t.w}} {
		for range f.power {
			factors = append(factors, f.letter)
		}
	}
	switch {
	case len(factors) == 0:
		factors = []string{strconv.FormatInt(t.num, 10)}
	case t.num == -1:
		factors[0] = "-" + factors[0]
	case t.num != 1:
		factors = append([]string{strconv.FormatInt(t.num, 10)}, factors...)
	}
	text := strings.Join(factors, "*")
	if t.den != 1 {
		text += "/" + strconv.FormatInt(t.den, 10)
	}
	return text
}
