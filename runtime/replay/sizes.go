package replay

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// solveSizes finds the batch, height and width at which the inputs of a stage
// have the given shapes, and checks every size against them.
func solveSizes(plan *ir.Stage, shapes [][]int) (ir.Sizes, error) {
	sizes := smallest(plan)
	for _, symbol := range symbols {
		value, found, err := solve(plan, shapes, symbol)
		if err != nil {
			return sizes, err
		}
		if found {
			*symbol.of(&sizes) = value
		}
	}
	for i, port := range plan.Inputs {
		if err := checkShape(plan, port, sizes, shapes[i]); err != nil {
			return sizes, err
		}
	}
	return sizes, plan.CheckSizes(sizes)
}

// checkShape compares the shape given for a port with the one it has.
func checkShape(plan *ir.Stage, port ir.Port, sizes ir.Sizes, shape []int) error {
	dims := plan.Tensor(port.Tensor).Shape
	same := len(dims) == len(shape)
	for i := 0; same && i < len(dims); i++ {
		wanted, err := dims[i].Eval(sizes)
		same = err == nil && wanted == shape[i]
	}
	if !same {
		return fmt.Errorf("stage %s: %s has shape %v, the stage takes %s with heights a multiple of %d and widths of %d", plan.Name, port.Name, shape, ir.ShapeText(dims), max(plan.Multiple.Height, 1), max(plan.Multiple.Width, 1))
	}
	return nil
}

type symbol struct {
	name string
	of   func(*ir.Sizes) *int
}

var symbols = []symbol{
	{"batch", func(s *ir.Sizes) *int { return &s.Batch }},
	{"height", func(s *ir.Sizes) *int { return &s.Height }},
	{"width", func(s *ir.Sizes) *int { return &s.Width }},
}

// smallest gives the least sizes that a stage runs at, where every Dim is whole.
func smallest(plan *ir.Stage) ir.Sizes {
	return ir.Sizes{Batch: 1, Height: max(plan.Multiple.Height, 1), Width: max(plan.Multiple.Width, 1)}
}

// takesBatch tells whether a size of an input follows from the batch.
func takesBatch(plan *ir.Stage) bool {
	for _, port := range plan.Inputs {
		for _, dim := range plan.Tensor(port.Tensor).Shape {
			if _, depends := dependence(dim, smallest(plan), symbols[0]); depends {
				return true
			}
		}
	}
	return false
}

// solve finds a symbol from the first input size that is proportional to it and
// to nothing else. A symbol that no input depends on is not found, which is no
// error: nothing that follows from the inputs can depend on it.
func solve(plan *ir.Stage, shapes [][]int, sym symbol) (value int, found bool, err error) {
	base := smallest(plan)
	depends := false
	for i, port := range plan.Inputs {
		dims := plan.Tensor(port.Tensor).Shape
		if len(dims) != len(shapes[i]) {
			return 0, false, checkShape(plan, port, base, shapes[i])
		}
		for j, dim := range dims {
			proportional, here := dependence(dim, base, sym)
			depends = depends || here
			if !proportional {
				continue
			}
			unit, err := dim.Eval(base)
			if err != nil {
				return 0, false, err
			}
			return shapes[i][j] * *sym.of(&base) / unit, true, nil
		}
	}
	if depends {
		return 0, false, fmt.Errorf("stage %s: its %s does not follow from the shapes of its inputs; give it an input with that size", plan.Name, sym.name)
	}
	return 0, false, nil
}

// dependence probes a Dim by doubling one symbol at a time.
func dependence(dim ir.Dim, base ir.Sizes, sym symbol) (proportional, depends bool) {
	unit, err := dim.Eval(base)
	if err != nil || unit == 0 {
		return false, false
	}
	proportional = true
	for _, other := range symbols {
		probe := base
		*other.of(&probe) *= 2
		doubled, err := dim.Eval(probe)
		if err != nil {
			return false, false
		}
		if other.name == sym.name {
			depends = doubled != unit
			proportional = proportional && doubled == 2*unit
			continue
		}
		proportional = proportional && doubled == unit
	}
	return proportional, depends
}
