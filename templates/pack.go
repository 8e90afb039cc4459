package templates

import (
	"fmt"
	"sort"

	"github.com/reprise-ml/reprise/gen/ir"
)

// packed says where the packed copies of weights lie that the tile kernels read.
type packed struct {
	weights  []ir.Ref // sorted
	layers   map[ir.Ref]*convolution
	first    map[ir.Ref]int // element of the copy of a weight
	elements int            // of all copies
}

// packing places the packed copies of all weights that the tile kernels read.
// Copies start at multiples of 64 elements, so that 16-byte loads are aligned.
func packing(stage *ir.Stage) (*packed, error) {
	programs := [][]ir.Op{stage.Forward}
	for _, p := range stage.Backward {
		programs = append(programs, p.Ops)
	}
	p := &packed{layers: map[ir.Ref]*convolution{}, first: map[ir.Ref]int{}}
	for _, ops := range programs {
		for i := range ops {
			b := &builder{stage: stage, op: &ops[i]}
			var c *convolution
			var err error
			forward := false
			switch k := ops[i].Do.(type) {
			case *ir.Conv2d:
				forward = true
				c, err = b.layer(k.X, k.Weight, k.Y, k.Kernel, k.Stride, k.Groups)
			case *ir.Conv2dInputGradient:
				c, err = b.layer(k.DX, k.Weight, k.DY, k.Kernel, k.Stride, k.Groups)
			}
			if err != nil {
				return nil, wrap(&ops[i], err)
			}
			if c != nil && (c.tiled() || forward && c.narrow()) {
				p.layers[c.weight] = c
			}
		}
	}
	for w := range p.layers {
		p.weights = append(p.weights, w)
	}
	sort.Slice(p.weights, func(i, j int) bool { return p.weights[i] < p.weights[j] })
	for _, w := range p.weights {
		p.first[w] = p.elements
		_, _, taps, padded := p.rows(w)
		p.elements += (taps*p.layers[w].outputs*padded + 63) / 64 * 64
	}
	return p, nil
}

// rows gives the shape of a packed copy, [taps][outputs][padded], and how many of
// the padded elements of a row are weights. A narrow layer has all weights of an
// output channel in one row, others have a row for each tap. Rows are padded to
// a multiple of 16 elements.
func (p *packed) rows(w ir.Ref) (outputs, inputs, taps, padded int) {
	c := p.layers[w]
	inputs, taps = c.groupInputs, c.kernel*c.kernel
	if c.narrow() {
		inputs, taps = inputs*taps, 1
	}
	return c.outputs, inputs, taps, (inputs + 15) / 16 * 16
}

// entry is a line of the table of pack_weights.
func (p *packed) entry(b *builder, w ir.Ref) packEntry {
	outputs, inputs, taps, padded := p.rows(w)
	return packEntry{
		Source: b.address(w), Target: fmt.Sprintf("c->packed + %d * e", p.first[w]),
		Outputs: fmt.Sprint(outputs), Inputs: fmt.Sprint(inputs), Taps: fmt.Sprint(taps), Padded: fmt.Sprint(padded),
	}
}
