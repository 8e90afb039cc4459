package templates

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// elementwise: y from up to two inputs; grid elements/V / 256, block 256.
func (b *builder) elementwise(operation string, accumulate bool, y ir.Ref, inputs ...ir.Ref) error {
	refs := append([]ir.Ref{y}, inputs...)
	f, err := b.flatten(-1, true, refs...)
	if err != nil {
		return err
	}
	types, err := b.types(refs...)
	if err != nil {
		return err
	}
	for len(types) < 3 {
		types = append(types, "float")
		inputs = append(inputs, 0)
	}
	fields := []field{{"y", b.tensorText(f, y)}, {"a", b.tensorText(f, inputs[0])}, {"b", b.tensorText(f, inputs[1])}, {"extent", extentText(f)}}
	grid := grid1(Ceiling(Ceiling(Times(f.rows(), Size(f.extent[3])), Number(f.vector)), Number(256)))
	b.add("elementwise", "elementwise", "elementwise", 256, grid, Expr{}, fields,
		operation, accumulate, "index_t", f.rank(), f.vector, types[0], types[1], types[2])
	return nil
}

// ordered flattens tensors in row-major order of their shape, the last
// dimension as the inner one, without merging: order counts.
func (b *builder) ordered(refs ...ir.Ref) (*flat, error) {
	shape := b.stage.Tensor(refs[0]).Shape
	if len(shape) == 0 || len(shape) > 4 {
		return nil, fmt.Errorf("%s has shape %s; kernels take 1 to 4 dimensions", b.stage.Tensor(refs[0]).Name, ir.ShapeText(shape))
	}
	f := &flat{strides: map[ir.Ref][4]ir.Dim{}, vector: 1}
	var rows []axis
	for i := range shape[:len(shape)-1] {
		rows = append(rows, b.axis(i, refs))
	}
	for _, r := range refs {
		if !ir.EqualShapes(shape, b.stage.Tensor(r).Shape) {
			return nil, fmt.Errorf("%s has shape %s, expected %s", b.stage.Tensor(r).Name, ir.ShapeText(b.stage.Tensor(r).Shape), ir.ShapeText(shape))
		}
	}
	f.lay(rows, b.axis(len(shape)-1, refs), refs)
	return f, nil
}

// softmax: one block of 128 threads a row.
func (b *builder) softmax(k *ir.Softmax) error {
	f, err := b.ordered(k.Y, k.X)
	if err != nil {
		return err
	}
	types, err := b.types(k.X, k.Y)
	if err != nil {
		return err
	}
	fields := []field{{"y", b.tensorText(f, k.Y)}, {"a", b.tensorText(f, k.X)}, {"b", b.tensorText(f, 0)}, {"extent", extentText(f)}}
	b.add("softmax", "softmax", "elementwise", 128, grid1(f.rows()), Expr{}, fields, "index_t", types[0], types[1])
	return nil
}

// softmaxGradient: one block of 128 threads a row.
func (b *builder) softmaxGradient(k *ir.SoftmaxGradient) error {
	f, err := b.ordered(k.DX, k.DY, k.Y)
	if err != nil {
		return err
	}
	types, err := b.types(k.DY, k.Y, k.DX)
	if err != nil {
		return err
	}
	fields := []field{{"y", b.tensorText(f, k.DX)}, {"a", b.tensorText(f, k.DY)}, {"b", b.tensorText(f, k.Y)}, {"extent", extentText(f)}}
	b.add("softmax", "softmax_gradient", "elementwise", 128, grid1(f.rows()), Expr{}, fields, "index_t", k.Accumulate, types[0], types[1], types[2])
	return nil
}

// dropout has two launches: grid elements/256, block 256; then one thread that
// moves the generator.
func (b *builder) dropout(k *ir.Dropout) error {
	f, err := b.ordered(k.X, k.Mask, k.Y)
	if err != nil {
		return err
	}
	types, err := b.types(k.X, k.Mask, k.Y)
	if err != nil {
		return err
	}
	if err := b.need(ir.Counter, k.State); err != nil {
		return err
	}
	if k.Probability < 0 || k.Probability >= 1 {
		return fmt.Errorf("probability %v is not in [0, 1)", k.Probability)
	}
	fields := []field{{"x", b.tensorText(f, k.X)}, {"mask", b.tensorText(f, k.Mask)}, {"y", b.tensorText(f, k.Y)}, {"extent", extentText(f)}, {"state", b.address(k.State)}}
	grid := grid1(Ceiling(Times(f.rows(), Size(f.extent[3])), Number(256)))
	b.add("dropout", "dropout", "dropout", 256, grid, Expr{}, fields,
		fmt.Sprintf("0x%016xull", dropoutThreshold(k.Probability)), Bits(1/(1-k.Probability)), "index_t", types[0], types[1], types[2])
	b.add("dropout", "dropout_advance", "dropout", 1, grid1(Number(1)), Expr{}, fields)
	return nil
}
