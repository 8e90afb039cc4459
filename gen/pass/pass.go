// Package pass turns a stage as its author wrote it into a plan that a back
// end can run. The passes are in the list below, in the order in which they
// run; each is one file with one exported idea. A pass changes the stage it
// is given; Run works on a copy.
package pass

import (
	"fmt"

	"github.com/reprise-ml/reprise/gen/ir"
)

// A step is one entry of the list: its name, as -dump shows it, and its work.
type step struct {
	name string
	run  func(*ir.Stage) error
}

// steps is the visible list. Fusing comes before differentiation, so that a
// fused operation has one gradient that needs only what the fused forward
// keeps; layout comes before it too, so that the gradient of a view is a view
// of a gradient and nothing is copied in either direction.
var steps = []step{
	{"verify", verify},
	{"fuse", fuse},
	{"attention", attention},
	{"layout", layout},
	{"differentiate", differentiate},
	{"reductions", reductions},
	{"compact", compact},
	{"arena", arena},
	{"lanes", lanes},
	{"check", check},
	{"seal", seal},
}

// Names lists the passes in order.
func Names() []string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.name
	}
	return names
}

// Run takes a stage from its definition to its finished plan. dump, unless
// nil, receives the text of the stage before the first pass (name "define")
// and after each pass.
func Run(defined *ir.Stage, dump func(pass, text string)) (*ir.Stage, error) {
	stage, err := clone(defined)
	if err != nil {
		return nil, err
	}
	if dump != nil {
		dump("define", ir.Text(stage))
	}
	for _, s := range steps {
		if err := s.run(stage); err != nil {
			return nil, fmt.Errorf("stage %s: pass %s: %w", stage.Name, s.name, err)
		}
		if dump != nil {
			dump(s.name, ir.Text(stage))
		}
	}
	return stage, nil
}

// clone copies a stage through its file form, which shares nothing.
func clone(s *ir.Stage) (*ir.Stage, error) {
	data, err := ir.Encode(s)
	if err != nil {
		return nil, err
	}
	return ir.Decode(data)
}

// seal takes the author's places out, which are for messages and would make
// every plan change with every line added above, and ties the plan to
// everything that is made from it.
func seal(s *ir.Stage) error {
	s.Pos = ir.Pos{}
	for _, ports := range [][]ir.Port{s.Inputs, s.Outputs} {
		for i := range ports {
			ports[i].Pos = ir.Pos{}
		}
	}
	for i := range s.Parameters {
		s.Parameters[i].Pos = ir.Pos{}
	}
	for i := range s.Buffers {
		s.Buffers[i].Pos = ir.Pos{}
	}
	for _, ops := range programs(s) {
		for i := range ops {
			ops[i].Pos = ir.Pos{}
		}
	}
	d, err := ir.Digest(s)
	s.Digest = d
	return err
}

// programs lists the operations of the forward and of every backward program.
func programs(s *ir.Stage) [][]ir.Op {
	out := [][]ir.Op{s.Forward}
	for _, b := range s.Backward {
		out = append(out, b.Ops)
	}
	return out
}
