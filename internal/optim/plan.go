package optim

import (
	"fmt"
	"strings"
	"sync"

	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/tasks/musgd"
)

// plans holds the finished plans of a process by what they depend on: fits of
// one network share theirs, which is never changed.
var plans sync.Map

// planOf gives the plan of the optimizer of a table of shapes: the one that a
// generated package embeds for a network with these parameters.
func planOf(name string, steps int, shapes [][]int) (*ir.Stage, error) {
	key := keyOf(name, steps, musgd.Classes(shapes))
	if known, found := plans.Load(key); found {
		return known.(*ir.Stage), nil
	}
	defined, err := musgd.OfShapes(name, steps, shapes).Build()
	if err != nil {
		return nil, err
	}
	plan, err := pass.Run(defined, nil)
	if err != nil {
		return nil, err
	}
	known, _ := plans.LoadOrStore(key, plan)
	return known.(*ir.Stage), nil
}

func keyOf(name string, steps int, classes []musgd.Class) string {
	var key strings.Builder
	fmt.Fprint(&key, name, " ", steps)
	for _, c := range classes {
		fmt.Fprint(&key, " ", c.Name(), c.Shape())
	}
	return key.String()
}
