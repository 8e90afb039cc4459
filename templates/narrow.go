package templates

import (
	"github.com/reprise-ml/reprise/gen/ir"
)

// wholeRows: a narrow layer that convolution_narrow takes: 3x3 of stride 2 from up
// to four channels, whose rows can be copied in pieces of 16 bytes.
func (b *builder) wholeRows(c *convolution, source ir.Ref) bool {
	return c.narrow() && c.kernel == 3 && c.stride == 2 && c.groups == 1 && c.inputs <= 4 && b.stage.Tensor(source).Elem == ir.Activation && b.alignedRows(source)
}

// convolveRows launches the kernel of a layer with whole rows.
//
//	kernel              grid                                    block
//	convolution_narrow  tiles(Y) of 8 x 64, channels/32         128
func (b *builder) convolveRows(c *convolution, bias bool, output ir.Ref, arguments []field) error {
	types, err := b.types(output)
	if err != nil {
		return err
	}
	bn := min(columns(c.outputs), 32)
	s := b.stage.Tensor(output).Shape
	blocks := Smaller(Times(Size(s[0]), Ceiling(Size(s[2]), Number(8)), Ceiling(Size(s[3]), Number(64))), Number(mostRows))
	sums, scratch := "no_sums", Expr{}
	if b.sums != nil {
		b.rows = blocks
		var fields []field
		sums, fields, scratch = b.sums.launch(b, c.outputs)
		arguments = append(arguments, fields...)
	}
	b.blocks = 4
	grid := [3]Expr{blocks, Number((c.outputs + bn - 1) / bn), Number(1)}
	b.add("narrow", "convolution_narrow", "convolution", tileThreads, grid, scratch, arguments,
		"element", "tf32", "index_t", c.shape(128, bn), bias, types[0], sums)
	return nil
}
