package templates

import (
	"fmt"
	"math"

	"github.com/reprise-ml/reprise/gen/ir"
)

// typeOf is the C++ type of a tensor's elements: element stands for the
// precision of the fit.
func (b *builder) typeOf(r ir.Ref) (string, error) {
	switch e := b.stage.Tensor(r).Elem; e {
	case ir.Activation:
		return "element", nil
	case ir.Master:
		return "float", nil
	default:
		return "", fmt.Errorf("%s holds %s elements; this kernel takes activation or master elements", b.stage.Tensor(r).Name, e)
	}
}

// types gives the C++ types of several tensors.
func (b *builder) types(refs ...ir.Ref) ([]any, error) {
	var out []any
	for _, r := range refs {
		t, err := b.typeOf(r)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// need fails unless a tensor has the given element kind.
func (b *builder) need(e ir.Element, refs ...ir.Ref) error {
	for _, r := range refs {
		if r == 0 {
			continue
		}
		if t := b.stage.Tensor(r); t.Elem != e {
			return fmt.Errorf("%s holds %s elements; this operand must hold %s elements", t.Name, t.Elem, e)
		}
	}
	return nil
}

// vectors fails unless all are contiguous FP32 vectors of c elements, the form
// in which kernels read coefficients.
func (b *builder) vectors(c int, refs ...ir.Ref) error {
	if err := b.need(ir.Master, refs...); err != nil {
		return err
	}
	for _, r := range refs {
		if r == 0 {
			continue
		}
		t := b.stage.Tensor(r)
		if len(t.Shape) != 1 || !t.Shape[0].Equal(ir.Const(c)) || !isOne(t.Strides[0]) {
			return fmt.Errorf("%s is not a contiguous vector of %d elements", t.Name, c)
		}
	}
	return nil
}

// contiguous fails unless a tensor lies row-major without gaps.
func (b *builder) contiguous(r ir.Ref) error {
	t := b.stage.Tensor(r)
	if !ir.EqualShapes(t.Strides, ir.RowMajor(t.Shape)) {
		return fmt.Errorf("%s is not contiguous", t.Name)
	}
	return nil
}

// constant gives a size that must not depend on the call.
func (b *builder) constant(r ir.Ref, axis int) (int, error) {
	t := b.stage.Tensor(r)
	if axis >= len(t.Shape) {
		return 0, fmt.Errorf("%s has shape %s; more dimensions are needed", t.Name, ir.ShapeText(t.Shape))
	}
	v, ok := t.Shape[axis].Constant()
	if !ok {
		return 0, fmt.Errorf("dimension %d of %s is %s; it must be a fixed number", axis, t.Name, t.Shape[axis])
	}
	return v, nil
}

// address is the C text of where a tensor starts.
func (b *builder) address(r ir.Ref) string {
	if r == 0 {
		return "0"
	}
	t := b.stage.Tensor(r)
	return fmt.Sprintf("at(c, %d, %s, %s)", t.Storage-1, elementBytes(b.stage.StorageOf(r).Elem), dimText(t.Offset))
}

// elementBytes is the C text of the size of an element.
func elementBytes(e ir.Element) string {
	switch e {
	case ir.Activation:
		return "e"
	case ir.Counter:
		return "8"
	default:
		return "4"
	}
}

// mapText is a struct reprise_map of a map (N, C, H, W).
func (b *builder) mapText(r ir.Ref) string {
	if r == 0 {
		return "{0, 0, 0, 0, 0}"
	}
	s := b.stage.Tensor(r).Strides
	return fmt.Sprintf("{%s, %s, %s, %s, %s}", b.address(r), dimText(s[0]), dimText(s[2]), dimText(s[3]), dimText(s[1]))
}

// tensorText is a struct reprise_tensor of a flattened tensor.
func (b *builder) tensorText(f *flat, r ir.Ref) string {
	if r == 0 {
		return "{0, {0, 0, 0, 0}}"
	}
	s := f.strides[r]
	return fmt.Sprintf("{%s, {%s, %s, %s, %s}}", b.address(r), dimText(s[0]), dimText(s[1]), dimText(s[2]), dimText(s[3]))
}

// extentText is the extent member of a flattened set.
func extentText(f *flat) string {
	return fmt.Sprintf("{%s, %s, %s, %s}", dimText(f.extent[0]), dimText(f.extent[1]), dimText(f.extent[2]), dimText(f.extent[3]))
}

// mapVector is the number of neighbouring channels that move at once in maps.
func (b *builder) mapVector(limit int, refs ...ir.Ref) int {
	width := limit
	for _, r := range refs {
		if r == 0 {
			continue
		}
		t := b.stage.Tensor(r)
		var rows []axis
		for i := range t.Shape {
			if i != 1 && !isOne(t.Shape[i]) {
				rows = append(rows, b.axis(i, []ir.Ref{r}))
			}
		}
		width = min(width, b.vectorWidth(rows, b.axis(1, []ir.Ref{r}), []ir.Ref{r}))
	}
	return width
}

// paddedVector is mapVector where a group of neighbours may reach beyond the last
// channel, into memory that belongs to nobody.
func (b *builder) paddedVector(limit int, refs ...ir.Ref) int {
	width := limit
	for _, r := range refs {
		if r == 0 {
			continue
		}
		v := b.mapVector(limit, r)
		if b.spare(r) {
			v = max(v, b.alignedVector(limit, r))
		}
		width = min(width, v)
	}
	return width
}

// alignedVector is the number of channels that can be read at once from the
// first channel of a pixel, whether or not they all exist.
func (b *builder) alignedVector(limit int, r ir.Ref) int {
	t := b.stage.Tensor(r)
	if len(t.Strides) != 4 || !isOne(t.Strides[1]) {
		return 1
	}
	for v := limit; v > 1; v /= 2 {
		fits := true
		for _, d := range []ir.Dim{t.Offset, t.Strides[0], t.Strides[2], t.Strides[3]} {
			_, ok := d.Divide(v, b.stage.Multiple)
			fits = fits && ok
		}
		if fits {
			return v
		}
	}
	return 1
}

// spare tells whether the memory between the channels of a map and the next
// pixel belongs to nobody: all tensors of its storage are maps of as many
// channels.
func (b *builder) spare(r ir.Ref) bool {
	of := b.stage.Tensor(r)
	if b.stage.StorageOf(r).Space != ir.Arena {
		return false
	}
	for i := range b.stage.Tensors {
		t := &b.stage.Tensors[i]
		if t.Storage == of.Storage && (len(t.Shape) != 4 || !t.Map || !t.Shape[1].Equal(of.Shape[1]) || !t.Offset.Equal(of.Offset)) {
			return false
		}
	}
	return true
}

// maps fails unless all tensors have four dimensions.
func (b *builder) maps(refs ...ir.Ref) error {
	for _, r := range refs {
		if r == 0 {
			continue
		}
		if t := b.stage.Tensor(r); len(t.Shape) != 4 {
			return fmt.Errorf("%s has shape %s; a map (N, C, H, W) is needed", t.Name, ir.ShapeText(t.Shape))
		}
	}
	return nil
}

// sizeFields are the members of maps from input to output.
func (b *builder) sizeFields(input, output ir.Ref) []field {
	in, out := b.stage.Tensor(input).Shape, b.stage.Tensor(output).Shape
	fields := []field{{"batch", "(int32_t)(" + dimText(in[0]) + ")"}, {"input_height", ""}, {"input_width", ""}, {"output_height", ""}, {"output_width", ""}}
	for i, d := range []ir.Dim{in[2], in[3], out[2], out[3]} {
		fields[i+1].value = "(int32_t)(" + dimText(d) + ")"
	}
	return fields
}

// activation prints an operation template over an activation function, for a
// result y.
func (b *builder) activation(template string, f ir.Function, slope float64, y ir.Ref) string {
	t := "element"
	if b.stage.Tensor(y).Elem != ir.Activation {
		t = "float"
	}
	return template + "<" + functionArguments(f, slope) + ", " + t + ">"
}

// functionArguments is an activation function as two template arguments. The
// slope counts only where the function has one, so that kernels are shared.
func functionArguments(f ir.Function, slope float64) string {
	if f != ir.LeakyReLU {
		slope = 0
	}
	return functionNames[f] + ", " + Bits(slope)
}

// functionNames are the enumerators of the device code.
var functionNames = map[ir.Function]string{
	ir.Identity: "identity", ir.SiLU: "silu", ir.ReLU: "relu", ir.LeakyReLU: "leaky_relu", ir.Sigmoid: "sigmoid", ir.Tanh: "tangent",
}

// knownFunction fails for an operation with an activation that does not exist.
func knownFunction(k ir.Kernel) error {
	var f ir.Function
	switch k := k.(type) {
	case *ir.Normalize:
		f = k.Activation
	case *ir.NormalizeReduce:
		f = k.Activation
	case *ir.NormalizeGradient:
		f = k.Activation
	case *ir.Activate:
		f = k.Activation
	case *ir.ActivateGradient:
		f = k.Activation
	}
	if functionNames[f] == "" {
		return fmt.Errorf("unknown activation %q", f)
	}
	return nil
}

// dropoutThreshold is ceil(p * 2^53): a draw below it zeroes the element.
func dropoutThreshold(p float64) uint64 { return uint64(math.Ceil(p * (1 << 53))) }

// powerOfTwo is the smallest power of two that is at least v, up to limit.
func powerOfTwo(v, limit int) int {
	p := 1
	for p < v && p < limit {
		p *= 2
	}
	return p
}
