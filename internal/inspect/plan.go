package inspect

import (
	"strings"

	"github.com/reprise-ml/reprise/gen/ir"
)

// Program is one program of a plan.
type Program struct {
	Name     string `json:"name"`     // forward (training), forward (evaluation), or backward of its outputs
	Launches int    `json:"launches"` // kernels that one run launches
	Lanes    int    `json:"lanes"`    // streams that it uses
}

// Programs lists the programs of a plan: the two forward programs, then one
// backward program for each set of outputs that may receive a cotangent.
func Programs(plan *ir.Stage) []Program {
	programs := []Program{
		program("forward (training)", plan.Forward, ir.Eval),
		program("forward (evaluation)", plan.Forward, ir.Training),
	}
	for _, b := range plan.Backward {
		programs = append(programs, program("backward of "+strings.Join(b.Present, ", "), b.Ops, ir.Eval))
	}
	return programs
}

func program(name string, ops []ir.Op, without ir.Mode) Program {
	p := Program{Name: name}
	for i := range ops {
		if ops[i].Mode != without {
			p.Launches++
			p.Lanes = max(p.Lanes, ops[i].Lane+1)
		}
	}
	return p
}
