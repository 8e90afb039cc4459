// Package cost counts what a finished plan does and needs at given sizes: the
// launches and multiply-accumulates of each program and the bytes of the arena.
// Counts are whole numbers, so that a manifest is the same everywhere.
package cost

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Program counts one program of a plan.
type Program struct {
	Name     string   `json:"name"`              // forward training, forward evaluation or backward
	Present  []string `json:"present,omitempty"` // backward: the outputs that have a cotangent
	Launches int      `json:"launches"`          // operations of the plan, one launch each on the host
	Lanes    int      `json:"lanes"`             // streams
	MACs     int      `json:"macs"`              // multiply-accumulates of convolutions and products
}

// Programs counts the forward program of each mode and every backward program.
func Programs(plan *ir.Stage, sizes ir.Sizes) ([]Program, error) {
	if err := plan.CheckSizes(sizes); err != nil {
		return nil, err
	}
	out := []Program{{Name: "forward training"}, {Name: "forward evaluation"}}
	for i, mode := range []ir.Mode{ir.Training, ir.Eval} {
		if err := out[i].count(plan, plan.Forward, mode, sizes); err != nil {
			return nil, err
		}
	}
	for _, b := range plan.Backward {
		p := Program{Name: "backward", Present: b.Present}
		if err := p.count(plan, b.Ops, ir.Training, sizes); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func (p *Program) count(plan *ir.Stage, ops []ir.Op, mode ir.Mode, sizes ir.Sizes) error {
	for i := range ops {
		if ops[i].Mode != ir.Always && ops[i].Mode != mode {
			continue
		}
		macs, err := work(plan, ops[i].Do).Eval(sizes)
		if err != nil {
			return fmt.Errorf("stage %s: %s: %w", plan.Name, ops[i].Name, err)
		}
		p.Launches++
		p.Lanes = max(p.Lanes, ops[i].Lane+1)
		p.MACs += macs
	}
	return nil
}

// work is the number of multiply-accumulates of a kernel: for each element of
// the convolution's result, one per input channel of its group and tap.
func work(plan *ir.Stage, kernel ir.Kernel) ir.Dim {
	convolution := func(y, weight ir.Ref) ir.Dim {
		return ir.Elements(plan.Tensor(y).Shape).Mul(ir.Elements(plan.Tensor(weight).Shape[1:]))
	}
	switch k := kernel.(type) {
	case *ir.Conv2d:
		return convolution(k.Y, k.Weight)
	case *ir.Conv2dInputGradient:
		return convolution(k.DY, k.Weight)
	case *ir.Conv2dWeightGradient:
		return convolution(k.DY, k.DWeight)
	case *ir.MatMul:
		shape := plan.Tensor(k.A).Shape
		inner := shape[len(shape)-1]
		if k.TransposeA {
			inner = shape[len(shape)-2]
		}
		return ir.Elements(plan.Tensor(k.Y).Shape).Mul(inner)
	case *ir.Attention:
		scores, mixed := k.Products(plan)
		return scores.Add(mixed)
	case *ir.AttentionGradient:
		return k.Products(plan)
	}
	return ir.Dim{}
}

// Arena is the scratch memory of one signature in one precision.
type Arena struct {
	Precision string `json:"precision"`
	Bytes     int    `json:"bytes"`
}

// Arenas adds up what storages of each element kind take one above the other. Back
// ends add padding between them.
func Arenas(plan *ir.Stage, sizes ir.Sizes) ([]Arena, error) {
	out := []Arena{{Precision: "fp32"}, {Precision: "fp16"}, {Precision: "bf16"}}
	counts, offsets := make([]int64, len(plan.Storages)), make([]int64, len(plan.Storages))
	for i, s := range plan.Storages {
		if s.Space != ir.Arena {
			continue
		}
		n, err := s.Size.Eval(sizes)
		if err != nil {
			return nil, fmt.Errorf("stage %s: %s: %w", plan.Name, s.Name, err)
		}
		counts[i] = int64(n)
	}
	for _, elem := range ir.ElementKinds {
		elements := int(plan.Stack(elem, 0, 1, counts, offsets))
		for i, activation := range []int{4, 2, 2} {
			out[i].Bytes += elements * bytesOf(elem, activation)
		}
	}
	return out, nil
}

func bytesOf(e ir.Element, activation int) int {
	switch e {
	case ir.Activation:
		return activation
	case ir.Counter:
		return 8
	}
	return 4
}
