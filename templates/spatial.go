package templates

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// mapLaunch adds a kernel with one thread for V channels of one pixel of the
// map `written`; grid pixels * C/V / 256, block 256. Operands are {x, y}; small
// is the one on the input side of the sizes.
func (b *builder) mapLaunch(template string, written, x, y, index ir.Ref, constants func(c, v int, types []any) []any) error {
	if err := b.maps(x, y, index); err != nil {
		return err
	}
	c, err := b.constant(written, 1)
	if err != nil {
		return err
	}
	types, err := b.types(x, y)
	if err != nil {
		return err
	}
	v := b.mapVector(8, x, y, index)
	fields := append([]field{{"x", b.mapText(x)}, {"y", b.mapText(y)}, {"index", b.mapText(index)}}, b.sizeFields(x, y)...)
	grid := grid1(Ceiling(Times(b.pixels(written), Number(c/v)), Number(256)))
	b.add("pool", template, "map", 256, grid, Expr{}, fields, constants(c, v, types)...)
	return nil
}

func (b *builder) maxPool(k *ir.MaxPool) error {
	if err := b.window(k.Kernel, k.Stride, k.Padding, k.Index); err != nil {
		return err
	}
	return b.mapLaunch("max_pool", k.Y, k.X, k.Y, k.Index, func(c, v int, types []any) []any {
		return []any{"index_t", c, v, k.Kernel, k.Stride, k.Padding, k.Index != 0, types[0], types[1]}
	})
}

func (b *builder) maxPoolGradient(k *ir.MaxPoolGradient) error {
	if err := b.window(k.Kernel, k.Stride, k.Padding, k.Index); err != nil {
		return err
	}
	return b.mapLaunch("max_pool_gradient", k.DX, k.DX, k.DY, k.Index, func(c, v int, types []any) []any {
		return []any{"index_t", c, v, k.Kernel, k.Stride, k.Padding, k.Accumulate, types[1], types[0]}
	})
}

// window checks the constants of a pool. A window that could lie in the padding
// alone would have no largest element.
func (b *builder) window(kernel, stride, padding int, index ir.Ref) error {
	if kernel < 1 || stride < 1 || padding < 0 || 2*padding > kernel {
		return fmt.Errorf("window %d, stride %d, padding %d: padding may be at most half the window", kernel, stride, padding)
	}
	return b.need(ir.Index, index)
}

// averagePool sums each map in one block: grid batch, channel sets; block 256.
func (b *builder) averagePool(k *ir.AveragePool) error {
	if err := b.maps(k.X); err != nil {
		return err
	}
	c, err := b.constant(k.X, 1)
	if err != nil {
		return err
	}
	types, err := b.types(k.X, k.Y)
	if err != nil {
		return err
	}
	y, err := b.pooledText(k.Y)
	if err != nil {
		return err
	}
	v := b.mapVector(8, k.X)
	lanes := powerOfTwo((c+v-1)/v, 32)
	fields := append([]field{{"x", b.mapText(k.X)}, {"y", y}, {"index", b.mapText(0)}}, b.sizeFields(k.X, k.X)...)
	grid := [3]Expr{Size(b.stage.Tensor(k.X).Shape[0]), Number((c + lanes*v - 1) / (lanes * v)), Number(1)}
	b.add("pool", "average_pool", "map", 256, grid, Expr{}, fields, "index_t", c, v, lanes, types[0], types[1])
	return nil
}

func (b *builder) averagePoolGradient(k *ir.AveragePoolGradient) error {
	if err := b.maps(k.DX); err != nil {
		return err
	}
	c, err := b.constant(k.DX, 1)
	if err != nil {
		return err
	}
	types, err := b.types(k.DY, k.DX)
	if err != nil {
		return err
	}
	y, err := b.pooledText(k.DY)
	if err != nil {
		return err
	}
	v := b.mapVector(8, k.DX)
	fields := append([]field{{"x", b.mapText(k.DX)}, {"y", y}, {"index", b.mapText(0)}}, b.sizeFields(k.DX, k.DX)...)
	grid := grid1(Ceiling(Times(b.pixels(k.DX), Number(c/v)), Number(256)))
	b.add("pool", "average_pool_gradient", "map", 256, grid, Expr{}, fields, "index_t", c, v, k.Accumulate, types[0], types[1])
	return nil
}

// pooledText is a struct reprise_map of a tensor (N, C).
func (b *builder) pooledText(r ir.Ref) (string, error) {
	t := b.stage.Tensor(r)
	if len(t.Shape) != 2 {
		return "", fmt.Errorf("%s has shape %s; (N, C) is needed", t.Name, ir.ShapeText(t.Shape))
	}
	return fmt.Sprintf("{%s, %s, 0, 0, %s}", b.address(r), dimText(t.Strides[0]), dimText(t.Strides[1])), nil
}

func (b *builder) upsample(k *ir.Upsample) error {
	return b.mapLaunch("upsample", k.Y, k.X, k.Y, 0, func(c, v int, types []any) []any {
		return []any{"index_t", c, v, types[0], types[1]}
	})
}

func (b *builder) upsampleGradient(k *ir.UpsampleGradient) error {
	return b.mapLaunch("upsample_gradient", k.DX, k.DX, k.DY, 0, func(c, v int, types []any) []any {
		return []any{"index_t", c, v, k.Accumulate, types[1], types[0]}
	})
}
