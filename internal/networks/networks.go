// Package networks finds the network that a command asks for: the generated
// package when there is one, else the same plans built in memory.
package networks

import (
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/gen/pass"
	"github.com/reprise-ml/reprise/gen/stage"
	"github.com/reprise-ml/reprise/internal/inspect"
)

// Plan loads the plan of one stage.
type Plan = func() (*ir.Stage, error)

// Want says which network is asked for.
type Want struct {
	Task      string
	Scale     string // letter
	Classes   int
	Keypoints int // of an object; 0 for a task without
}

// Find gives the plans of a network's stages in the order in which they run,
// and whether they come from a generated package.
func Find(w Want) (plans []Plan, generated bool, err error) {
	definitions, err := definitionsOf(w)
	if err != nil {
		return nil, false, err
	}
	shipped := packages()[w]
	for _, d := range definitions {
		if plan, found := shipped[d.Name()]; found {
			plans = append(plans, plan)
			continue
		}
		plans = append(plans, inMemory(d))
	}
	return plans, shipped != nil, nil
}

func definitionsOf(w Want) ([]*stage.Definition, error) {
	network, err := inspect.FindNetwork(w.Task)
	if err != nil {
		return nil, err
	}
	scale, err := inspect.FindScale(w.Scale)
	if err != nil {
		return nil, err
	}
	return network.Define(inspect.Model{Scale: scale, Classes: w.Classes, Keypoints: w.Keypoints}), nil
}

// inMemory builds the plan that a generated package would embed.
func inMemory(d *stage.Definition) Plan {
	return func() (*ir.Stage, error) {
		defined, err := d.Build()
		if err != nil {
			return nil, err
		}
		return pass.Run(defined, nil)
	}
}
