package inspect

import (
	"fmt"
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

// Arena is the scratch memory of one signature of a plan.
type Arena struct {
	Precision string `json:"precision"`
	Bytes     int    `json:"bytes"`
}

// slotAlignment is the multiple of bytes that arena slots start at.
const slotAlignment = 256

// Arenas gives the arena of a plan at the given sizes for each precision: the
// sum over slots of the largest storage that takes its turn there.
func Arenas(plan *ir.Stage, sizes ir.Sizes) ([]Arena, error) {
	if err := plan.CheckSizes(sizes); err != nil {
		return nil, err
	}
	var arenas []Arena
	for _, precision := range []struct {
		name  string
		bytes int
	}{{"FP32", 4}, {"FP16", 2}, {"BF16", 2}} {
		slots := map[int]int{}
		for i := range plan.Storages {
			storage := &plan.Storages[i]
			if storage.Space != ir.Arena {
				continue
			}
			n, err := storage.Size.Eval(sizes)
			if err != nil {
				return nil, fmt.Errorf("stage %s: %s: %w", plan.Name, storage.Name, err)
			}
			slots[storage.Slot] = max(slots[storage.Slot], n*elementBytes(storage.Elem, precision.bytes))
		}
		total := 0
		for _, bytes := range slots {
			total += (bytes + slotAlignment - 1) / slotAlignment * slotAlignment
		}
		arenas = append(arenas, Arena{Precision: precision.name, Bytes: total})
	}
	return arenas, nil
}

func elementBytes(e ir.Element, activation int) int {
	switch e {
	case ir.Activation:
		return activation
	case ir.Counter:
		return 8
	}
	return 4
}
