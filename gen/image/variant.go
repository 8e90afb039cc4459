package image

import (
	"fmt"
	"slices"
	"strings"
)

// Variant is one form in which every kernel is compiled.
type Variant struct {
	Precision string // fp32, tf32, fp16 or bf16
	Wide      bool   // 64-bit indices, for tensors of more than 2^31 elements
}

// Precisions are the precisions that kernels are written for.
var Precisions = []string{"fp32", "tf32", "fp16", "bf16"}

// Variants lists the variants of some precisions, with 32-bit indices and, when
// wide is set, with 64-bit indices too.
func Variants(precisions []string, wide bool) ([]Variant, error) {
	var out []Variant
	for _, p := range precisions {
		if !slices.Contains(Precisions, p) {
			return nil, fmt.Errorf("precision %q is unknown; use some of %s", p, strings.Join(Precisions, ", "))
		}
		if slices.Contains(out, Variant{Precision: p}) {
			return nil, fmt.Errorf("precision %s is named twice; name it once", p)
		}
		out = append(out, Variant{Precision: p})
		if wide {
			out = append(out, Variant{Precision: p, Wide: true})
		}
	}
	return out, nil
}
