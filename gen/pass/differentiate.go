package pass

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// maxOptional is how many optional outputs, or groups of them, a stage may
// have: one backward program is made per set of present outputs.
const maxOptional = 4

// differentiate makes one backward program per presence pattern by reverse
// accumulation over the forward program. A program holds what its outputs
// need and nothing else: a parameter that no present output reaches has no
// gradient in it, which is what makes its gradient absent and not zero.
func differentiate(s *ir.Stage) error {
	patterns, err := patterns(s)
	if err != nil {
		return err
	}
	g := newGradients(s)
	for _, present := range patterns {
		program, err := g.program(present)
		if err != nil {
			return err
		}
		s.Backward = append(s.Backward, program)
	}
	return nil
}

// patterns lists the sets of outputs that can receive cotangents together:
// all required outputs with every choice of optional groups, all present
// first. An optional output without a group is a group of its own.
func patterns(s *ir.Stage) ([][]string, error) {
	bit := map[string]int{}
	for _, p := range s.Outputs {
		if _, known := bit[groupOf(p)]; p.Optional && !known {
			bit[groupOf(p)] = len(bit)
		}
	}
	if len(bit) > maxOptional {
		return nil, fmt.Errorf("%s: %d optional outputs need %d backward programs; declare at most %d, use stage.OptionalTogether or split the stage", s.Pos, len(bit), 1<<len(bit), maxOptional)
	}
	var out [][]string
	for absent := range 1 << len(bit) {
		var present []string
		for _, p := range s.Outputs {
			if p.Optional && absent>>bit[groupOf(p)]&1 == 1 {
				continue
			}
			present = append(present, p.Name)
		}
		if len(present) > 0 {
			out = append(out, present)
		}
	}
	return out, nil
}

// groupOf names the outputs that are absent together with an optional one.
func groupOf(p ir.Port) string {
	if p.Group != "" {
		return "group " + p.Group
	}
	return p.Name
}

// gradients knows the gradient twin of every tensor. Gradient storages mirror
// the forward storages, so the gradient of a view is a view of a gradient.
type gradients struct {
	stage   *ir.Stage
	regions *regions
	active  map[ir.StorageID]bool         // storages that a gradient must reach
	twins   map[ir.StorageID]ir.StorageID // gradient storage of a storage
	of      map[ir.Ref]ir.Ref             // gradient tensor of a tensor
	known   int                           // forward tensors; later ones are gradients
}

func newGradients(s *ir.Stage) *gradients {
	g := &gradients{
		stage: s, regions: newRegions(s), active: map[ir.StorageID]bool{},
		twins: map[ir.StorageID]ir.StorageID{}, of: map[ir.Ref]ir.Ref{}, known: len(s.Tensors),
	}
	for _, p := range s.Parameters {
		g.active[s.Tensor(p.Tensor).Storage] = true
	}
	for _, p := range s.Inputs {
		if p.Differentiable {
			g.active[s.Tensor(p.Tensor).Storage] = true
		}
	}
	for i := range s.Forward {
		op := &s.Forward[i]
		if op.Mode == ir.Eval {
			continue
		}
		for _, r := range op.Reads() {
			if g.active[s.Tensor(r).Storage] {
				g.activate(op)
			}
		}
	}
	return g
}

// activate marks what an operation writes, state aside.
func (g *gradients) activate(op *ir.Op) {
	op.Do.Operands(func(_ string, ref *ir.Ref, access ir.Access) {
		if *ref == 0 || access != ir.Write {
			return
		}
		if t := g.stage.Tensor(*ref); t.Elem == ir.Activation {
			g.active[t.Storage] = true
		}
	})
}

func (g *gradients) wanted(ref ir.Ref) bool {
	return ref != 0 && g.active[g.stage.Tensor(ref).Storage]
}

// gradient gives the gradient tensor of a tensor, made on first use.
func (g *gradients) gradient(ref ir.Ref) ir.Ref {
	if d, ok := g.of[ref]; ok {
		return d
	}
	t := *g.stage.Tensor(ref)
	twin, ok := g.twins[t.Storage]
	if !ok {
		forward := *g.stage.Storage(t.Storage)
		twin = g.stage.AddStorage(ir.Storage{Name: "d " + forward.Name, Space: gradientSpace(forward.Space), Elem: forward.Elem, Size: forward.Size})
		g.twins[t.Storage] = twin
	}
	t.Name, t.Storage = "d "+t.Name, twin
	d := g.stage.AddTensor(t)
	g.of[ref] = d
	return d
}

func gradientSpace(forward ir.Space) ir.Space {
	switch forward {
	case ir.ParameterSpace:
		return ir.ParameterGradient
	case ir.Input:
		return ir.InputGradient
	}
	return ir.Arena
}
